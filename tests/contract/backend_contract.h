/// The contract of engine/backend.h as tests, one suite for every backend.
///
/// A backend joins with one file in this folder: a World that lets the tests move it, and a line
///
///   INSTANTIATE_TEST_SUITE_P(Local, BackendContract, testing::Values(make_local_world));
///
/// Orders are given by hand (backend_contract.cpp) and by a real engine (backend_engine.cpp). What
/// a World cannot bring about is skipped, with a reason.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "engine/backend.h"
#include "model/state.h"

namespace tutti::contract {

/// What may befall orders and reports.
enum class Trouble : std::uint8_t {
  refused,  ///< The launch is refused.
  slow,     ///< The launch takes long: what follows at once comes before the task has begun.
  lost,     ///< The next report never arrives.
  late,     ///< The next report arrives after newer ones.
  twice,    ///< Orders and reports arrive twice.
  deaf,     ///< Orders never arrive.
};
inline constexpr std::array<Trouble, 6> troubles{Trouble::refused, Trouble::slow,  Trouble::lost,
                                                 Trouble::late,    Trouble::twice, Trouble::deaf};

/// One backend in a world of its own, empty at first.
class World {
 public:
  virtual ~World() = default;
  virtual Backend& backend() = 0;

  /// The nodes that it has: at least two, each with at least two devices and room for four tasks.
  virtual std::vector<NodeSpec> nodes() const = 0;
  /// A task with one device that runs there until it is stopped, or told to finish.
  virtual TaskShape task() const = 0;

  /// Waits until all that was ordered has happened and all that is to be reported has arrived;
  /// returns what arrived since the last time. Ends every trouble.
  virtual std::vector<Event> settle() = 0;
  /// Brings trouble upon what is ordered and reported of these tasks, or of any, until the world
  /// settles. False where that cannot be forced.
  virtual bool make(Trouble trouble, std::span<const TaskId> tasks) = 0;
  /// The task ends by itself, at the latest until the world settles. REQUIRES: it runs.
  virtual void finish(const TaskId& task, std::int32_t exit_code) = 0;

  /// An attempt that runs, as seen in the world and not in its reports.
  struct Running {
    std::uint32_t attempt = 0;
    std::string node;
    DeviceSet devices;
    friend bool operator==(const Running&, const Running&) = default;
    friend void PrintTo(const Running& running, std::ostream* out) {
      *out << "attempt " << running.attempt << " on " << running.node << " with "
           << running.devices.size() << " devices";
    }
  };
  virtual std::vector<Running> running(const TaskId& task) const = 0;
};

using MakeWorld = std::unique_ptr<World> (*)();

/// What was reported of one attempt, in whatever order and however often.
struct Heard {
  bool started = false;
  bool refused = false;
  std::optional<std::int32_t> exit_code;
  friend bool operator==(const Heard&, const Heard&) = default;
};
inline const Heard nothing{};
inline const Heard that_it_runs{.started = true};
inline const Heard that_it_is_refused{.refused = true};
void PrintTo(const Heard& heard, std::ostream* out);

/// Collects reports, and fails where two of them contradict each other.
class Reports {
 public:
  void add(const Event& event);
  void add(const std::vector<Event>& events);
  Heard of(const TaskId& task, std::uint32_t attempt) const;

 private:
  std::map<std::pair<TaskId, std::uint32_t>, Heard> heard_;
};

/// The suite. It gives orders by hand, to tasks of jobs 0, 1, 2, ... of one task each.
class BackendContract : public testing::TestWithParam<MakeWorld> {
 protected:
  static constexpr std::uint64_t jobs = 8;

  BackendContract();

  static TaskId task(std::uint64_t job) { return {JobId(job), 0}; }
  /// Orders the attempt to node 0 or 1 with its device 0 or 1.
  void place(const TaskId& task, std::uint32_t attempt, unsigned node = 0, unsigned device = 0);
  void evict(const TaskId& task, std::uint32_t attempt);
  /// What is heard until the world has settled.
  void settle() { reports_.add(world_->settle()); }
  /// All that was ever heard of it.
  Heard heard(const TaskId& task, std::uint32_t attempt) const {
    return reports_.of(task, attempt);
  }
  /// The attempt of the task that runs in the world, 0 for none; fails where there are several.
  std::uint32_t running(const TaskId& task) const;
  /// What the backend says that it has of the task, by attempt.
  std::map<std::uint32_t, Backend::Observed> observed(const TaskId& task);
  bool make(Trouble trouble, const TaskId& task) {
    return world_->make(trouble, std::span(&task, 1));
  }

  /// What should become of one task, by the orders alone.
  struct Expected {
    std::uint32_t newest = 0;  ///< Attempt that was ordered to start or to stop.
    bool wanted = false;       ///< It was ordered to start, and not to stop.
    bool over = true;          ///< It was heard to have ended, or to be refused.
  };
  /// An order or an end, whichever the contract allows: repeated, late, overtaken.
  void do_anything(const TaskId& task, Expected& expected, Prng& prng);
  /// Asks what became of it, and compares.
  void check(const TaskId& task, Expected& expected);

  std::unique_ptr<World> world_;
  State state_;
  Reports reports_;
};

}  // namespace tutti::contract
