/// What would make a gang start, in words.
#include <map>

#include "sched/unblock.h"

namespace tutti {
namespace {

std::string text_of(const NodeSpec& spec) {
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  for (const NamedAmount& part : spec.capacity) {
    add(amount_text(part.name, part.amount));
  }
  std::map<std::string, unsigned> devices;
  for (const DeviceSpec& device : spec.devices) {
    const std::string& profile = device.type.profile;
    ++devices[device.type.model + (profile.empty() ? "" : " " + profile)];
  }
  for (const auto& [model, count] : devices) add(std::to_string(count) + " x " + model);
  for (const StackVersion& version : spec.stack) add(version.name + " " + version.version);
  for (const Label& label : spec.labels.all()) add(label.key + "=" + label.value);
  return out;
}

std::string text_of(const State& state, const Task& task) {
  const ShapeRow& row = state.shape(task.shape);
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  if (const unsigned devices = task.devices.size(); devices > 0) {
    add(std::to_string(devices) + (devices == 1 ? " device" : " devices"));
  }
  for (const Resources::Amount& part : row.request) {
    if (part.lane == lane::pods) continue;
    add(amount_text(state.fleet().lanes().name(part.lane), part.amount));
  }
  return out.empty() ? "" : " (" + out + ")";
}

bool any_holds(const State& state, const Job& job) {
  for (std::uint32_t at = 0; at < job.gangs; ++at) {
    if (state.gangs()[GangIndex(job.first_gang.value() + at)].holding > 0) return true;
  }
  return false;
}

}  // namespace

std::string to_text(const State& state, const Unblock& fact, const MayName& may_name) {
  const auto named = [&](JobId job) {
    return !may_name || may_name(*state.jobs()[state.find(job)].spec);
  };
  const std::string node = fact.node.valid() ? state.fleet().node(fact.node).name : std::string();
  switch (fact.kind) {
    case Unblock::Kind::raise_limit:
      return "queue " + state.queue(fact.queue).spec.name + " may use " +
             amount_text(fact.amount.name, fact.amount.amount);
    case Unblock::Kind::task_ends:
      return (named(fact.task.job) ? "task " + state.jobs()[state.find(fact.task.job)].spec->name +
                                         "/" + std::to_string(fact.task.ordinal)
                                   : "a task of another queue") +
             " on " + node + " ends" + text_of(state, state.tasks()[state.find(fact.task)]);
    case Unblock::Kind::uncordon:
      return node + " is uncordoned";
    case Unblock::Kind::node_returns:
      return node + " comes back";
    case Unblock::Kind::device_heals:
      return "device " + std::to_string(fact.ordinal) + " of " + node + " is online again";
    case Unblock::Kind::company: {
      std::string labels;
      for (const Label& label : fact.companion.labels.all()) {
        labels += (labels.empty() ? "" : ", ") + label.key + "=" + label.value;
      }
      return "a task with " + labels + " runs on " + node;
    }
    case Unblock::Kind::tolerate:
      return "it tolerates the taint " + fact.taint.key +
             (fact.taint.value.empty() ? "" : "=" + fact.taint.value);
    case Unblock::Kind::add_nodes:
      return std::to_string(fact.count) + (fact.count == 1 ? " more node" : " more nodes") +
             " with " + text_of(fact.spec);
    case Unblock::Kind::steps_aside: {
      const Job& job = state.jobs()[state.find(fact.job)];
      return (named(fact.job) ? "job " + job.spec->name : "a job of another queue") +
             ", which comes first, " + (any_holds(state, job) ? "is cancelled" : "no longer waits");
    }
  }
  return {};
}

}  // namespace tutti
