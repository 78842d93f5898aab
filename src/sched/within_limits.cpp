#include "sched/within_limits.h"

#include <algorithm>
#include <string>

#include "format/quantity.h"
#include "format/text.h"
#include "model/resources.h"
#include "model/state.h"

namespace tutti {
namespace {

/// In the unit of limits, but accelerators in thousandths.
std::int64_t taken_by(const TaskShape& shape, std::string_view resource) {
  if (resource == "pods") return 1;
  if (resource == "gpu") {
    std::int64_t milli = 0;
    for (const DeviceRequest& each : shape.devices) {
      milli += std::int64_t{each.count} * each.compute_permille;
    }
    return milli;
  }
  const auto found = std::ranges::find(shape.resources, resource, &NamedAmount::name);
  return found == shape.resources.end() ? 0 : found->amount;
}

/// The least that a gang holds once it has started; the most there can be where that overflows.
std::int64_t least_of(const GangSpec& gang, std::string_view resource) {
  std::int64_t sum = 0;
  for (const GroupSpec& group : gang.groups) {
    for (const RoleSpec& role : group.roles) {
      std::int64_t least = INT64_MAX;
      for (const TaskShape& each : role.alternatives) {
        least = std::min(least, taken_by(each, resource));
      }
      const auto all = checked_multiply(least, std::int64_t{role.min} * group.copies);
      if (!all || *all > INT64_MAX - sum) return INT64_MAX;
      sum += *all;
    }
  }
  return sum;
}

std::string text_of(std::string_view resource, std::int64_t amount) {
  return resource == "gpu" ? quantity_milli_text(amount) + " gpu" : amount_text(resource, amount);
}

Error above(const JobSpec& spec, const QueueSpec& queue, std::string_view resource,
            std::int64_t needed, std::int64_t limit) {
  return {Code::limit,
          "job " + quote(spec.name) + " needs " + text_of(resource, needed) +
              " at once; the limit of queue " + quote(queue.name) + " is " +
              text_of(resource, limit),
          {},
          "ask for less, take another queue, or have its limit raised: tutti queue set " +
              queue.name + " --limit " + std::string(resource) + "=..."};
}

}  // namespace

Result<void> within_limits(const State& state, const JobSpec& spec) {
  QueueIndex index = *state.find_queue(spec.queue);
  for (; index.valid(); index = state.queue(index).parent) {
    const QueueSpec& queue = state.queue(index).spec;
    for (const NamedAmount& each : queue.limit) {
      const bool gpus = each.name == "gpu";
      const std::int64_t limit = gpus ? each.amount * DeviceRequest::whole : each.amount;
      for (const auto& gang : spec.gangs) {
        const std::int64_t needed = least_of(*gang, each.name);
        if (needed > limit) return fail(above(spec, queue, each.name, needed, limit));
      }
    }
  }
  return {};
}

}  // namespace tutti
