/// This machine as a backend: the orders of an engine carried out by LocalTasks.
///
/// It has no thread and no clock: its owner waits until `wake_fd` is readable, takes the events,
/// journals them, then acknowledges them. What a task is to run comes from `make_order`, which
/// knows jobs, users and their secrets; an error of it is a refusal.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backend/local/device_watch.h"
#include "backend/local/local_tasks.h"
#include "engine/backend.h"

namespace tutti {

class LocalBackend final : public Backend {
 public:
  using MakeOrder = std::function<Result<LaunchOrder>(const Action& action, const State& state)>;

  /// `tasks` must outlive it.
  LocalBackend(LocalTasks& tasks, MakeOrder make_order);
  /// From now on the cards of `node` are heard of too. REQUIRES: at most once, before anybody
  /// waits.
  void follow(DeviceWatch& cards, std::string node);

  void execute(const Action& action, const State& state) override;
  std::vector<Observed> observe() override;

  /// Readable when take_events has something to do.
  int wake_fd() const { return events_.get(); }
  std::vector<Event> take_events();
  /// These are journaled, so that no later server need hear them from us.
  void acknowledge(std::span<const Event> events);

  /// What ended and was acknowledged: to be forgotten once nobody asks for it any more.
  std::vector<AttemptId> over() const;
  /// Removes them, with the output that lies there. REQUIRES: they are over.
  void forget(std::span<const AttemptId> attempts);

 private:
  LocalTasks& tasks_;
  MakeOrder make_order_;
  DeviceWatch* cards_ = nullptr;
  std::string node_;
  Descriptor events_;  ///< epoll: tasks and cards.
};

}  // namespace tutti
