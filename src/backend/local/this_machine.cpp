#include "backend/local/this_machine.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string_view>

#include "dialect/tutti.h"
#include "format/json.h"

namespace tutti {
namespace {

Result<int> cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);  // More than 1024 cores.
  if (online > 0) return static_cast<int>(online);
  return fail(Code::io, "the system does not say how many cores it has");
}

Result<std::int64_t> memory_bytes(const std::string& path) {
  std::ifstream file(path);
  std::string name;
  std::int64_t kib = 0;
  for (std::string rest; file >> name >> kib; std::getline(file, rest)) {
    if (name == "MemTotal:" && kib > 0) return kib * 1024;
  }
  return fail(Error{Code::io, "it does not say how much memory there is (MemTotal)", path, {}});
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

}  // namespace

Result<NodeSpec> this_machine(const std::vector<std::string>& devices, const Catalog* catalog,
                              const MachineFiles& files) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().key("nodes").begin_list().begin_object();
  json.member("name", host_name()).member("cpu", TRY(cores()));
  json.member("memory", TRY(memory_bytes(files.proc + "/meminfo")));
  json.key("gpus").begin_list();
  for (const std::string& each : devices) json.value(each);
  json.end_list().end_object().end_list().end_object();
  Result<FleetFile> fleet = parse_fleet(text, "this machine", catalog);
  if (fleet) return std::move(fleet->nodes.front());
  // Only the devices were written by a person; where they stand in our text says nothing to them.
  return fail(Error{Code::invalid, fleet.error().what, {}, fleet.error().hint});
}

}  // namespace tutti
