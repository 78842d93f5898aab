/// What becomes of attempts: their keepers' starts and ends, and what former servers have left.
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <span>
#include <utility>

#include "backend/local/local_tasks.h"
#include "backend/local/processes.h"
#include "format/text.h"

namespace tutti {
namespace {

/// How soon what cannot be settled yet is looked at again.
constexpr long pause_ns = 5'000'000;

TaskEnd killed(EndCause cause, bool began, std::string reason) {
  return {.cause = cause,
          .exit_code = TaskEnd::killed,
          .signal = SIGKILL,
          .began = began,
          .reason = std::move(reason)};
}

/// Was the file torn, rather than kept from us? That takes a power cut.
template <class Record>
bool is_torn(const Result<Record>& record) {
  return !record && record.error().code != Code::io;
}

/// Was it started under another start of the machine? Then nothing of it is left.
Result<bool> went_with_machine(const TaskFolder& folder, const std::string& boot) {
  if (folder.has_identity()) {
    Result<TaskIdentity> identity = folder.read_identity();
    return is_torn(identity) || TRY(std::move(identity)).boot != boot;
  }
  if (!folder.has_launch()) return false;
  Result<TaskFolder::Launch> launch = folder.read_launch();
  return is_torn(launch) || TRY(std::move(launch)).boot != boot;
}

/// Kills what is left in the control group of the attempt, where it has one; returns how many.
std::size_t kill_group(const TaskFolder& folder) {
  const Result<TaskFolder::Launch> launch = folder.read_launch();
  if (!launch || !launch->order.cgroup) return 0;
  const Result<Cgroup> group = Cgroup::make({.root = launch->order.cgroup->root}, folder.name());
  if (!group) return 0;
  const std::size_t count = group->processes().size();
  if (count == 0) {
    group->remove();
  } else {
    group->kill();
  }
  return count;
}

/// What a keeper said before it ended, which it only does where it has a bug or cannot be loaded.
std::string last_words(const TaskFolder& folder) {
  const Result<std::string> text = folder.files().read("keeper.log");
  return text && !text->empty() ? ": " + quote(*text) : "";
}

}  // namespace

// --- Finding ------------------------------------------------------------------------------------

void LocalTasks::adopt(const AttemptId& id) {
  Attempt& attempt = attempts_[id];
  // Most of what is found has ended long ago.
  if (const auto folder = TaskFolder::open(folder_, id); !folder || !folder->has_end()) {
    watch(id, attempt);
  }
  look(id);
}

/// Finds out how far an attempt has come, and who keeps it.
void LocalTasks::look(const AttemptId& id) {
  const auto found = attempts_.find(id);
  if (found == attempts_.end() || is_over(found->second.phase)) return;
  Attempt& attempt = found->second;
  Result<TaskFolder> folder = TaskFolder::open(folder_, id);
  if (!folder) return look_again_soon(id);
  if (!attempt.keeper.valid()) {
    if (folder->has_end()) return settle(id, attempt, *folder);
    const Result<bool> gone = went_with_machine(*folder, options_.boot);
    if (!gone) return look_again_soon(id);
    if (*gone) return end_with_machine(id, *folder);
    const pid_t holder = folder->holder().value_or(0);
    if (holder == 0) return settle(id, attempt, *folder);
    Descriptor keeper = open_process(holder);
    // Only if it still has the lock is it the one that was opened.
    if (folder->holder().value_or(0) != holder) return look_again_soon(id);
    follow(id, attempt, std::move(keeper));
  }
  if (folder->is_started()) {
    begin_running(id, attempt);
  } else if (attempt.watch < 0) {
    look_again_soon(id);
  }
}

void LocalTasks::look_again_soon(const AttemptId& id) {
  // Who was here first is not to wait for whoever comes later.
  if (unsettled_.empty()) wake_in(pause_ns);
  unsettled_.insert(id);
}

void LocalTasks::wake_in(long ns) {
  const itimerspec once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = ns}};
  ::timerfd_settime(timer_.get(), 0, &once, nullptr);
}

/// From now on the end of the keeper is heard.
void LocalTasks::follow(const AttemptId& id, Attempt& attempt, Descriptor keeper) {
  if (!keeper.valid() || !watch_descriptor(keeper.get())) return look_again_soon(id);
  attempt.keeper = std::move(keeper);
  keepers_[attempt.keeper.get()] = id;
  if (attempt.phase == Phase::stopping) send_signal(attempt.keeper, SIGTERM);
}

void LocalTasks::end_with_machine(const AttemptId& id, const TaskFolder& folder) {
  record_end(id, killed(EndCause::machine_restarted, folder.is_started(),
                        "the machine restarted, or lost its power"));
}

/// No keeper has the lock: it has left an exit record, or died, or never came. Whichever it was, it
/// is final once we hold the lock and have written it down.
void LocalTasks::settle(const AttemptId& id, Attempt& attempt, TaskFolder& folder) {
  if (!folder.has_end() && !folder.lock()) return look_again_soon(id);
  if (folder.has_end()) {
    const Result<TaskEnd> how = folder.read_end();
    if (!how && !is_torn(how)) return look_again_soon(id);
    const bool heard = folder.is_heard();
    if (!heard && folder.is_started()) begin_running(id, attempt);
    end(id, how ? *how : killed(EndCause::machine_restarted, true, "its exit record is torn"));
    if (heard) reports_.pop_back();
    attempt.acknowledged = heard;
    return;
  }
  TaskEnd how;
  if (folder.has_identity()) {
    attempt.phase = Phase::stopping;
    const Result<TaskIdentity> identity = folder.read_identity();
    if (!identity || kill_remains(*identity) + kill_group(folder) > 0) return look_again_soon(id);
    how = killed(EndCause::keeper_killed, folder.is_started(),
                 "its keeper was killed, and so was what it had left");
  } else if (attempt.phase == Phase::stopping) {
    how = {.cause = EndCause::stopped, .exit_code = TaskEnd::terminated};
  } else {
    how = TaskEnd::refusal("server or keeper ended before it began" + last_words(folder));
  }
  how.ended_at = time_of_day();
  if (!folder.write_end(how)) return look_again_soon(id);
  end(id, std::move(how));
}

// --- Hearing ------------------------------------------------------------------------------------

std::vector<TaskReport> LocalTasks::take_reports() {
  std::array<epoll_event, 64> ready{};
  for (std::size_t count = ready.size(); count == ready.size();) {
    const int got = uninterrupted([&] {
      return ::epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), 0);
    });
    count = static_cast<std::size_t>(std::max(got, 0));
    for (const epoll_event& each : std::span(ready).first(count)) take_event(each.data.fd);
  }
  // What was reported meanwhile needs no further call.
  if (unsettled_.empty()) wake_in(0);
  return std::exchange(reports_, {});
}

void LocalTasks::take_event(int descriptor) {
  if (descriptor == watches_.get()) return take_watches();
  if (descriptor != timer_.get()) return take_keeper(descriptor);
  std::uint64_t times = 0;
  static_cast<void>(::read(timer_.get(), &times, sizeof times));
  for (const AttemptId& id : std::exchange(unsettled_, {})) look(id);
}

/// Files were made in folders of attempts that start.
void LocalTasks::take_watches() {
  alignas(inotify_event) std::array<char, 4096> buffer;  // NOLINT: filled by read.
  for (;;) {
    const ssize_t size =
        uninterrupted([&] { return ::read(watches_.get(), buffer.data(), buffer.size()); });
    if (size <= 0) return;
    for (ssize_t at = 0; at < size;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* const name = buffer.data() + at + sizeof event;
      at += static_cast<ssize_t>(sizeof event + event.len);
      if ((event.mask & IN_Q_OVERFLOW) != 0) look_at_all();
      const auto found = starting_.find(event.wd);
      if (found == starting_.end() || event.len == 0 || std::strcmp(name, "started") != 0) continue;
      const AttemptId id = found->second;
      begin_running(id, attempts_.at(id));
    }
  }
}

/// So much happened that the system did not keep all of it.
void LocalTasks::look_at_all() {
  const std::map<int, AttemptId> starting = starting_;
  for (const auto& [watch, id] : starting) look(id);
}

void LocalTasks::take_keeper(int descriptor) {
  const auto found = keepers_.find(descriptor);
  if (found == keepers_.end()) return;
  const AttemptId id = found->second;
  Attempt& attempt = attempts_.at(id);
  siginfo_t ended{};
  // It is a child of ours where this server started it.
  ::waitid(P_PIDFD, static_cast<id_t>(descriptor), &ended, WEXITED | WNOHANG);
  keepers_.erase(found);
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  attempt.keeper.close();
  look(id);
}

/// From now on it is heard when a file is made in its folder. Where the system has no more watches,
/// `look` looks again and again.
void LocalTasks::watch(const AttemptId& id, Attempt& attempt) {
  const std::string path = folder_of(id);
  attempt.watch = ::inotify_add_watch(watches_.get(), path.c_str(), IN_CREATE | IN_ONLYDIR);
  if (attempt.watch >= 0) starting_[attempt.watch] = id;
}

void LocalTasks::unwatch(Attempt& attempt) {
  if (attempt.watch < 0) return;
  ::inotify_rm_watch(watches_.get(), attempt.watch);
  starting_.erase(std::exchange(attempt.watch, -1));
}

void LocalTasks::begin_running(const AttemptId& id, Attempt& attempt) {
  unwatch(attempt);
  if (attempt.phase != Phase::starting) return;
  attempt.phase = Phase::running;
  report({.id = id});
}

void LocalTasks::end(const AttemptId& id, TaskEnd how) {
  Attempt& attempt = attempts_[id];
  unwatch(attempt);
  attempt.phase = how.cause == EndCause::refused ? Phase::refused : Phase::ended;
  attempt.exit_code = how.exit_code;
  attempt.ended_at = how.ended_at;
  report_end(id, std::move(how));
}

void LocalTasks::record_end(const AttemptId& id, TaskEnd how) {
  how.ended_at = time_of_day();
  // Where this cannot be written, the next server finds out by itself.
  if (const Result<TaskFolder> folder = TaskFolder::make(folder_, id)) {
    disregard(folder->write_end(how));
  }
  end(id, std::move(how));
}

void LocalTasks::report(TaskReport report) {
  reports_.push_back(std::move(report));
  wake_in(1);
}

void LocalTasks::report_end(const AttemptId& id, TaskEnd how) {
  using Kind = TaskReport::Kind;
  const Kind kind = how.cause == EndCause::refused ? Kind::refused : Kind::ended;
  report({.id = id, .kind = kind, .end = std::move(how)});
}

}  // namespace tutti
