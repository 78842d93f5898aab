#include "sched/queue_trial.h"

#include <span>

#include "sched/suppose.h"

namespace tutti {
namespace {

std::vector<QueueTrial::Above> above_limits(const State& state, const Queue& queue,
                                            const QueueUsage& used) {
  std::vector<QueueTrial::Above> out;
  for (const NamedAmount& limit : queue.spec.limit) {
    const auto lane = state.fleet().lanes().find(limit.name);
    std::int64_t uses = 0;
    std::int64_t may_use = limit.amount;
    if (limit.name == "gpu") {
      uses = used.gpu_milli;
      may_use = queue.gpu_milli_limit;
    } else if (lane && lane->value() < used.lanes.size()) {
      uses = used.lanes[lane->value()];
    }
    if (uses > may_use) out.push_back({{limit.name, uses}, limit});
  }
  return out;
}

}  // namespace

QueueTrial try_queue(const State& state, const PolicyFactory& factory, const QueueSpec& queue) {
  const Event event = QueueSet{queue};
  const Supposed supposed = suppose(state, factory, std::span(&event, 1));
  const QueueIndex index = *supposed.state.find_queue(queue.name);
  QueueTrial out{.would_start = {},
                 .above = above_limits(supposed.state, supposed.state.queue(index),
                                       supposed.state.queue_usage(index))};
  for (const Supposed::Start& each : supposed.starts) out.would_start.push_back(each.job);
  return out;
}

}  // namespace tutti
