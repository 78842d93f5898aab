#include "backend/local/gang_environment.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "dialect/workload.h"
#include "format/json.h"

namespace tutti {
namespace {

constexpr const char* this_machine = "127.0.0.1";

/// The words that TensorFlow has for roles; another one is a worker.
std::string_view tensorflow_role(const JobSpec& spec, std::uint32_t ordinal) {
  constexpr std::array<std::string_view, 5> known{"chief", "master", "worker", "ps", "evaluator"};
  const auto* const found = std::ranges::find(known, role_of(spec, ordinal).name);
  return found == known.end() ? "worker" : *found;
}

/// {"cluster":{"worker":["127.0.0.1:20000",...]},"task":{"type":"worker","index":0}}
std::string tensorflow_config(const GangPlace& place, const PortRow& ports) {
  using Addresses = std::vector<std::string>;
  std::vector<std::pair<std::string_view, Addresses>> cluster;  // In the order of the tasks.
  std::string_view own_role;
  std::size_t own_index = 0;
  for (std::uint32_t rank = 0; rank < place.tasks; ++rank) {
    const std::string_view role = tensorflow_role(*place.spec, place.first + rank);
    auto at = std::ranges::find(cluster, role, &std::pair<std::string_view, Addresses>::first);
    if (at == cluster.end()) at = cluster.insert(at, {role, {}});
    if (rank == place.rank) {
      own_role = role;
      own_index = at->second.size();
    }
    at->second.push_back(std::string(this_machine) + ":" + std::to_string(ports.first + rank));
  }
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("cluster").begin_object();
  for (const auto& [role, addresses] : cluster) {
    json.key(role).begin_list();
    for (const std::string& each : addresses) json.value(each);
    json.end_list();
  }
  json.end_object().key("task").begin_object().member("type", own_role);
  json.member("index", own_index).end_object().end_object();
  return out;
}

}  // namespace

void add_gang_variables(const GangPlace& place, const PortRow& ports,
                        std::map<std::string, std::string>& variables) {
  variables["RANK"] = variables["LOCAL_RANK"] = std::to_string(place.rank);
  variables["WORLD_SIZE"] = variables["LOCAL_WORLD_SIZE"] = std::to_string(place.tasks);
  variables["MASTER_ADDR"] = this_machine;
  variables["MASTER_PORT"] = std::to_string(ports.first);
  variables["TF_CONFIG"] = tensorflow_config(place, ports);
}

std::string host_file(const GangPlace& place) {
  return "localhost slots=" + std::to_string(place.tasks) + "\n";
}

}  // namespace tutti
