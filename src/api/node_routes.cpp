#include "api/node_routes.h"

#include <string>
#include <utility>

#include "format/json.h"

namespace tutti {
namespace {

/// {"cpu_milli":{"capacity":8000,"free":1000}}: by lane, in the units of the model.
void write_amounts(JsonWriter& json, const State& state, NodeIndex index) {
  const Fleet& fleet = state.fleet();
  json.key("resources").begin_object();
  for (const Resources::Amount& part : fleet.node(index).capacity.amounts()) {
    json.key(fleet.lanes().name(part.lane)).begin_object();
    json.member("capacity", part.amount);
    json.member("free", state.usage().free(index, part.lane)).end_object();
  }
  json.end_object();
}

void write_devices(JsonWriter& json, const State& state, NodeIndex index) {
  const Fleet& fleet = state.fleet();
  json.key("devices").begin_list();
  for (std::uint32_t row = fleet.device_begin(index); row < fleet.device_end(index); ++row) {
    const Device& device = fleet.device(row);
    json.begin_object();
    json.member("model", fleet.types()[device.type.value()].model);
    json.member("id", device.id);
    json.member("health", to_text(device.health)).member("mode", to_text(device.mode));
    json.member("used_permille", state.usage().used_permille(row)).end_object();
  }
  json.end_list();
}

std::string nodes_json(const State& state) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("nodes").begin_list();
  for (std::size_t at = 0; at < state.fleet().size(); ++at) {
    const NodeIndex index(at);
    const Node& node = state.fleet().node(index);
    json.begin_object().member("name", node.name).member("present", node.present);
    json.member("cordoned", node.present && !node.open());
    json.member("draining", node.draining);
    write_amounts(json, state, index);
    write_devices(json, state, index);
    json.end_object();
  }
  json.end_list().end_object();
  return out;
}

}  // namespace

void NodeRoutes::declare(Router& router) {
  router.add("GET", "/api/v1/nodes", Role::viewer, [this](Call call) { list(std::move(call)); });
  for (const std::string_view word : {"cordon", "uncordon", "drain"}) {
    router.add("POST", "/api/v1/nodes/{}:" + std::string(word), Role::operator_,
               [this, word](Call call) { set(std::move(call), word); });
  }
}

void NodeRoutes::list(Call call) {
  engine_.ask([call = std::move(call)](const State& state) mutable -> EngineThread::Work {
    return [call = std::move(call), text = nodes_json(state)]() mutable {
      call.send(200, std::move(text));
    };
  });
}

void NodeRoutes::set(Call call, std::string_view word) {
  if (call.user.is_bound()) {
    return call.refuse({Code::denied,
                        "nodes belong to all queues, and " + call.user.who() + " is bound to some",
                        {},
                        "operators without queues and administrators may change nodes"});
  }
  const std::string node = call.parts[0];
  engine_.send({NodeCordoned{node, word != "uncordon", word == "drain"}},
               [call = std::move(call)](const EngineThread::Answers& answers) mutable {
                 if (!answers.front()) return call.refuse(answers.front().error());
                 call.send(200, "{}");
               });
}

}  // namespace tutti
