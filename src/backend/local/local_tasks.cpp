#include "backend/local/local_tasks.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <utility>

#include "backend/local/processes.h"
#include "base/check.h"

namespace tutti {
namespace {

/// 128 random bits, that no environment has by chance.
std::string new_mark() {
  std::array<unsigned char, 16> bits{};
  CHECK(::getrandom(bits.data(), bits.size(), 0) == static_cast<ssize_t>(bits.size()));
  std::string out;
  for (const unsigned char byte : bits) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += {digits[byte / 16], digits[byte % 16]};
  }
  return out;
}

}  // namespace

// --- Opening ------------------------------------------------------------------------------------

Result<LocalTasks> LocalTasks::open(Options options) {
  if (options.boot.empty()) options.boot = boot_id();
  LocalTasks tasks(std::move(options));
  TRY(tasks.prepare());
  for (const std::string& name : TRY(tasks.folder_.names())) {
    if (const std::optional<AttemptId> id = attempt_of(name)) tasks.adopt(*id);
  }
  return tasks;
}

Result<void> LocalTasks::prepare() {
  if (::mkdir(options_.folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(system_error(options_.folder, "make it", errno));
  }
  // Keepers look for it from another directory.
  const std::unique_ptr<char, decltype(&std::free)> path(
      ::realpath(options_.folder.c_str(), nullptr), std::free);
  if (path == nullptr) return fail(system_error(options_.folder, "find it", errno));
  folder_ = TRY(OpenFolder::open(path.get()));
  lock_ = TRY(folder_.open_file("lock", O_RDWR | O_CREAT));
  if (!lock_file(lock_)) {
    if (errno != EAGAIN) return fail(system_error(folder_.path_of("lock"), "lock it", errno));
    return fail({.code = Code::conflict,
                 .what = "in use by process " + std::to_string(lock_holder(lock_)),
                 .where = options_.folder,
                 .hint = "one server starts tasks there: stop that one, or use another folder"});
  }
  events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  watches_ = Descriptor(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  timer_ = Descriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  for (const Descriptor* each : {&watches_, &timer_}) {
    if (!each->valid() || !watch_descriptor(each->get())) {
      return fail(system_error(options_.folder, "watch it", errno));
    }
  }
  return {};
}

bool LocalTasks::watch_descriptor(int descriptor) const {
  epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
  return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

// --- Orders -------------------------------------------------------------------------------------

std::optional<AttemptId> LocalTasks::newest(const TaskId& task) const {
  const auto after = attempts_.upper_bound({task, UINT32_MAX});
  if (after == attempts_.begin()) return std::nullopt;
  const AttemptId& last = std::prev(after)->first;
  if (last.task != task) return std::nullopt;
  return last;
}

bool LocalTasks::is_past(const AttemptId& id) const {
  const std::optional<AttemptId> known = newest(id.task);
  return known && known->attempt >= id.attempt;
}

Result<void> LocalTasks::start(const AttemptId& id, const LaunchOrder& order) {
  if (is_past(id)) {
    repeat(id);
    return {};
  }
  Result<void> possible = check_values(order);
  // With another user's rights only its keeper can look: those of a process are those of its
  // threads.
  if (possible && !order.user) possible = check_files(order);
  if (const std::optional<AttemptId> older = newest(id.task);
      possible && older && !is_over(attempts_.at(*older).phase)) {
    possible = fail(Code::conflict,
                    "attempt " + std::to_string(older->attempt) + " of the same task is not over");
  }
  if (possible) possible = launch(id, attempts_[id], order);
  if (possible) return {};
  const Error& why = possible.error();
  record_end(id, TaskEnd::refusal(why.where.empty() ? why.what : why.where + ": " + why.what));
  return possible;
}

/// An error only where no keeper was started.
Result<void> LocalTasks::launch(const AttemptId& id, Attempt& attempt, const LaunchOrder& order) {
  step("folder");
  const TaskFolder folder = TRY(TaskFolder::make(folder_, id));
  step("launch");
  TRY(folder.write_launch({.order = order, .boot = options_.boot, .mark = new_mark()}));
  watch(id, attempt);
  step("spawn");
  const pid_t keeper = TRY(options_.spawn(folder.path()));
  step("spawned");
  follow(id, attempt, open_process(keeper));
  return {};
}

void LocalTasks::refuse(const AttemptId& id, const std::string& reason) {
  if (is_past(id)) return repeat(id);
  record_end(id, TaskEnd::refusal(reason));
}

void LocalTasks::stop(const AttemptId& id) {
  const auto found = attempts_.find(id);
  if (found == attempts_.end()) {
    if (is_past(id)) return;
    return record_end(id, {.cause = EndCause::stopped,
                           .exit_code = TaskEnd::terminated,
                           .reason = "it was stopped before it was started"});
  }
  Attempt& attempt = found->second;
  if (is_over(attempt.phase)) return repeat(id);
  attempt.phase = Phase::stopping;
  if (attempt.keeper.valid()) send_signal(attempt.keeper, SIGTERM);
}

void LocalTasks::repeat(const AttemptId& id) {
  const auto found = attempts_.find(id);
  if (found == attempts_.end() || newest(id.task) != id) return;
  const Attempt& attempt = found->second;
  if (attempt.phase == Phase::running) report({.id = id});
  if (is_over(attempt.phase)) report_end(id, end_of(id, attempt));
}

/// What is known of the end of an attempt that is over.
TaskEnd LocalTasks::end_of(const AttemptId& id, const Attempt& attempt) const {
  if (const Result<TaskFolder> folder = TaskFolder::open(folder_, id)) {
    if (Result<TaskEnd> end = folder->read_end()) return *std::move(end);
  }
  if (attempt.phase == Phase::refused) return TaskEnd::refusal("its folder cannot be read");
  return {.exit_code = attempt.exit_code, .reason = "its folder cannot be read"};
}

// --- Answers ------------------------------------------------------------------------------------

std::vector<LocalTasks::Seen> LocalTasks::observe() const {
  std::vector<Seen> out;
  for (const auto& [id, attempt] : attempts_) {
    out.push_back({.id = id,
                   .phase = attempt.phase,
                   .exit_code = attempt.exit_code,
                   .ended_at = attempt.ended_at,
                   .acknowledged = attempt.acknowledged});
  }
  return out;
}

void LocalTasks::acknowledge(const AttemptId& id) {
  const auto found = attempts_.find(id);
  if (found == attempts_.end() || !is_over(found->second.phase)) return;
  if (std::exchange(found->second.acknowledged, true)) return;
  // Where this fails, the next server says it once more.
  if (const Result<TaskFolder> folder = TaskFolder::open(folder_, id)) {
    disregard(folder->mark_heard());
  }
}

Result<void> LocalTasks::forget(const AttemptId& id) {
  const auto found = attempts_.find(id);
  if (found == attempts_.end()) return {};
  CHECK(is_over(found->second.phase), to_string(id));
  TRY(folder_.remove(to_string(id)));
  attempts_.erase(found);
  return {};
}

Result<LaunchOrder> LocalTasks::order_of(const AttemptId& id) const {
  const TaskFolder folder = TRY(TaskFolder::open(folder_, id));
  return TRY(folder.read_launch()).order;
}

Result<TerminalView> LocalTasks::view(const AttemptId& id) const {
  return TerminalView::open(TRY(folder_.open_inner(to_string(id))));
}

std::string LocalTasks::folder_of(const AttemptId& id) const {
  return folder_.path_of(to_string(id));
}

}  // namespace tutti
