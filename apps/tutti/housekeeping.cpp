#include "tutti/housekeeping.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>
#include <vector>

#include "store/lock_file.h"

namespace tutti {
namespace {

constexpr Duration between_looks = Duration::seconds(2);
constexpr Duration after_a_failure = Duration::seconds(600);
/// Few enough that whoever submits meanwhile does not notice, often enough to keep up.
constexpr std::uint64_t rows_at_once = 1000;
constexpr Duration between_drops = Duration::milliseconds(100);
constexpr Duration when_done = Duration::seconds(60);

/// This program again, with stderr as it is and nothing else of ours.
Result<pid_t> spawn(std::vector<std::string> arguments) {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&actions, 0, 1);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, pointers.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(file_error("tutti checkpoint", "start", error));
  return pid;
}

}  // namespace

Housekeeping::Housekeeping(Options options, Ports ports)
    : options_(std::move(options)),
      ports_(std::move(ports)),
      self_(std::make_shared<Housekeeping*>(this)) {
  look();
}

Housekeeping::~Housekeeping() {
  *self_ = nullptr;
  if (child_ == 0) return;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
}

void Housekeeping::look() {
  looking_ = ports_.loop->after(between_looks, [this] { look(); });
  ports_.forget();
  const auto found = checkpoints_of(options_.order.data).list();
  checkpoint_ = found.empty() ? 0 : found.front().row;
  const JournalRow older = found.size() < 2 ? 0 : found[1].row;
  if (older != std::exchange(older_, older)) drop();
  const bool wait = failed_at_ && ports_.clock() - *failed_at_ < after_a_failure;
  if (child_ != 0 || wait || options_.every == 0) return;
  if (ports_.newest() >= checkpoint_ + options_.every + options_.order.behind) order_checkpoint();
}

void Housekeeping::order_checkpoint() {
  const auto child = spawn(options_.order.arguments());
  if (!child) {
    fmt::print(stderr, "{}", child.error().text());
    return note_failure();
  }
  child_ = *child;
  child_file_ = net::Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, child_, 0)));
  auto watch = ports_.loop->watch(child_file_.get(), [this] { ended(); });
  if (!watch) return;  // Then it is noticed by nobody, and none is made after it.
  child_watch_ = *std::move(watch);
  child_watch_->want(true, false);
}

void Housekeeping::ended() {
  int status = 0;
  if (::waitpid(child_, &status, WNOHANG) != child_) return;
  child_watch_.reset();
  child_file_ = {};
  child_ = 0;
  failed_at_.reset();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  note_failure();
  fmt::print(stderr, "no checkpoint could be made; it is tried again in {} minutes\n",
             after_a_failure.us / 60'000'000);
}

void Housekeeping::note_failure() {
  failed_at_ = ports_.clock();
  ++failures_;
}

/// A step at a time, each between two turns of the engine.
void Housekeeping::drop() {
  dropping_ = ports_.loop->after(when_done, [this] { drop(); });
  if (older_ == 0) return;
  const Instant before = ports_.clock() + Duration{-options_.history.us};
  ports_.engine->ask([journal = ports_.journal, last = older_, before,
                      self = self_](const State&) -> EngineThread::Work {
    const auto dropped = journal->drop(std::min(last, journal->rows()), rows_at_once, before);
    return [self, dropped] {
      if (*self == nullptr) return;
      if (!dropped) fmt::print(stderr, "{}", dropped.error().text());
      if (!dropped || *dropped == 0) return;
      (*self)->dropping_ = (*self)->ports_.loop->after(between_drops, [self] { (*self)->drop(); });
    };
  });
}

}  // namespace tutti
