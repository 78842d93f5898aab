/// Tasks as processes of this machine: the server's side of the keepers (keeper.h).
///
/// Nothing here blocks, has a thread, or is needed for a task to go on: a server may die at any
/// moment, and the next one finds every attempt again in its folder. Who owns this waits until
/// `wake_fd` is readable, then calls `take_reports`.
///
/// - An attempt starts at most once, whoever dies when (task_folder.h says why).
/// - It does not start once it was stopped, or a newer one of its task was started or stopped.
/// - A report is given once; again when the order is repeated (nothing while it starts or stops);
///   and again by the next server, until it is acknowledged.
/// - An attempt whose keeper died is killed, as far as it can be told from its marks, and reported;
///   one that the machine took down with it is reported.
///
/// Complexity: O(log attempts) per call and report; the start is O(folders).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backend/local/launch_order.h"
#include "backend/local/spawn.h"
#include "backend/local/task_folder.h"
#include "backend/local/terminal.h"

namespace tutti {

/// Something became of an attempt.
struct TaskReport {
  enum class Kind : std::uint8_t {
    started,  ///< Its program was executed.
    refused,  ///< It was not and never will be: `end.reason`.
    ended,    ///< Nothing of it is left.
  };
  AttemptId id;
  Kind kind = Kind::started;
  TaskEnd end;  ///< Of what was refused or ended.
};

class LocalTasks {
 public:
  struct Options {
    std::string folder;  ///< Of all task folders; made if there is none.
    SpawnKeeper spawn = spawn_keeper;
    std::string boot;   ///< Names this start of the machine; empty: as the system does.
    StepHook before{};  ///< Told before each step of a start. Tests die there.
  };
  /// Opens the folder, in which only one process can be at a time, and finds what former ones left.
  static Result<LocalTasks> open(Options options);

  /// Starts the attempt, unless it is known or older than what is. An error is why it never will
  /// start; that is also reported.
  Result<void> start(const AttemptId& id, const LaunchOrder& order);
  /// The same for an attempt that cannot be started, for this reason.
  void refuse(const AttemptId& id, const std::string& reason);
  /// Stops the attempt by the steps of its order. One that is not known counts as stopped, and
  /// never starts; one that is older than what is known is left alone.
  void stop(const AttemptId& id);

  enum class Phase : std::uint8_t {
    starting,
    running,
    stopping,  ///< It was told to, or what its keeper has left is being killed.
    ended,
    refused,
  };
  static bool is_over(Phase phase) { return phase == Phase::ended || phase == Phase::refused; }
  struct Seen {
    AttemptId id;
    Phase phase = Phase::starting;
    int exit_code = 0;  ///< Once it has ended.
    Instant ended_at;
    bool acknowledged = false;
  };
  /// Every attempt that is not forgotten, by task and attempt.
  std::vector<Seen> observe() const;

  /// Readable when take_reports has something to do.
  int wake_fd() const { return events_.get(); }
  std::vector<TaskReport> take_reports();

  /// The end of the attempt need not be reported again.
  void acknowledge(const AttemptId& id);
  /// Removes its folder, with what it wrote there. REQUIRES: it has ended, or was refused; and no
  /// order about it, or an older attempt of its task, can still come.
  Result<void> forget(const AttemptId& id);
  /// Does nothing of it run, and will not?
  bool is_over(const AttemptId& id) const {
    const auto found = attempts_.find(id);
    return found == attempts_.end() || is_over(found->second.phase);
  }
  /// What it was started with.
  Result<LaunchOrder> order_of(const AttemptId& id) const;
  /// The terminal of an attempt that runs and has one.
  Result<TerminalView> view(const AttemptId& id) const;
  /// Where it lies.
  std::string folder_of(const AttemptId& id) const;

 private:
  struct Attempt {
    Phase phase = Phase::starting;
    int exit_code = 0;
    Instant ended_at{};
    bool acknowledged = false;
    Descriptor keeper{};  ///< Its process; none while that is not known.
    int watch = -1;       ///< Of its folder, while it starts.
  };

  explicit LocalTasks(Options options) : options_(std::move(options)) {}
  Result<void> prepare();
  bool watch_descriptor(int descriptor) const;

  std::optional<AttemptId> newest(const TaskId& task) const;
  /// Is an attempt of the task known that is not older?
  bool is_past(const AttemptId& id) const;
  /// Reports once more what is true of it, unless a newer one is known.
  void repeat(const AttemptId& id);
  Result<void> launch(const AttemptId& id, Attempt& attempt, const LaunchOrder& order);
  TaskEnd end_of(const AttemptId& id, const Attempt& attempt) const;

  // What becomes of attempts: local_tasks_watch.cpp.
  void adopt(const AttemptId& id);
  void look(const AttemptId& id);
  void look_again_soon(const AttemptId& id);
  void follow(const AttemptId& id, Attempt& attempt, Descriptor keeper);
  void end_with_machine(const AttemptId& id, const TaskFolder& folder);
  void settle(const AttemptId& id, Attempt& attempt, TaskFolder& folder);
  void take_event(int descriptor);
  void take_watches();
  void look_at_all();
  void take_keeper(int descriptor);
  void watch(const AttemptId& id, Attempt& attempt);
  void unwatch(Attempt& attempt);
  void begin_running(const AttemptId& id, Attempt& attempt);
  /// It is over; `record_end` writes that down first, as this server's own knowledge.
  void end(const AttemptId& id, TaskEnd how);
  void record_end(const AttemptId& id, TaskEnd how);
  void report(TaskReport report);
  void report_end(const AttemptId& id, TaskEnd how);
  /// Makes wake_fd readable then, at the latest; 0: not by itself.
  void wake_in(long ns);
  void step(std::string_view name) const {
    if (options_.before) options_.before(name);
  }

  Options options_;
  OpenFolder folder_;
  Descriptor lock_;     ///< Of the folder, against other servers.
  Descriptor events_;   ///< epoll: all below, and the keepers.
  Descriptor watches_;  ///< inotify: folders of what starts.
  Descriptor timer_;    ///< Wakes the owner, and us to look at `unsettled_`.
  std::map<AttemptId, Attempt> attempts_;
  std::map<int, AttemptId> keepers_;   ///< By descriptor.
  std::map<int, AttemptId> starting_;  ///< By watch.
  std::set<AttemptId> unsettled_;
  std::vector<TaskReport> reports_;
};

}  // namespace tutti
