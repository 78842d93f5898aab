#include "backend/local/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

#include "backend/local/as_user.h"
#include "backend/local/output_file.h"
#include "backend/local/processes.h"
#include "backend/local/stopping.h"
#include "backend/local/task_folder.h"
#include "backend/local/task_process.h"
#include "backend/local/terminal.h"

namespace tutti {
namespace {

/// A large pipe lets the task write on while we are busy with a slow disk.
constexpr int pipe_bytes = 256 * 1024;
constexpr std::size_t piece_bytes = std::size_t{64} * 1024;

/// What the task writes to, a pipe or a terminal, and the file that takes it.
struct Output {
  Descriptor pipe;
  OutputFile file;
  Terminal* terminal = nullptr;

  /// For who looks at it.
  bool waits() const { return terminal != nullptr && terminal->is_full(); }

  /// Takes what is there, at most a few pieces so that others get their turn. Closes the pipe
  /// behind its last writer. False where nothing was there.
  bool take() {
    std::array<char, piece_bytes> piece;  // NOLINT: filled by read.
    for (int turn = 0; turn < 8 && pipe.valid(); ++turn) {
      if (waits()) return false;
      const ssize_t got =
          uninterrupted([&] { return ::read(pipe.get(), piece.data(), piece.size()); });
      if (got < 0 && errno != EIO) return turn > 0;
      if (got <= 0) pipe.close();  // EIO is the end of a terminal.
      const std::string_view bytes(piece.data(),
                                   static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      file.append(bytes);
      if (terminal != nullptr) terminal->show(bytes);
    }
    return pipe.valid();
  }
};

/// What a wait status says, as a shell would put it.
int exit_code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Duration span_of(const timeval& time) {
  return {time.tv_sec * std::int64_t{1'000'000} + time.tv_usec};
}

class Keeper {
 public:
  Keeper(TaskFolder folder, const StepHook& before) : folder_(std::move(folder)), before_(before) {}

  void run();

 private:
  Result<void> prepare();
  Result<void> start(const std::string& boot, const std::string& mark);
  Result<void> look_at_files() const;
  Result<void> write_hosts();
  Result<Descriptor> open_output(const std::string& path);
  void refuse(const Error& why);

  void watch();
  void serve_terminal();
  void flush_terminal();
  void wait_for_something();
  void reap();
  void take_signals();
  void take_outcome();
  void keep_time();

  void finish();
  void say_how_it_ended();
  bool ran_out_of_memory() const;
  bool has_tty() const { return terminal_ && !order_.terminal->pipes; }
  void step(std::string_view name) const {
    if (before_) before_(name);
  }

  TaskFolder folder_;
  const StepHook& before_;
  LaunchOrder order_;
  std::string hosts_;  ///< The path of its file of hosts.
  Descriptor signals_;
  std::optional<Terminal> terminal_;
  std::vector<Output> outputs_;
  TaskProcess task_;
  std::optional<Cgroup> cgroup_;
  bool released_ = false;
  Instant released_at_;        ///< Steady time.
  std::optional<int> status_;  ///< Of the first process, once it has ended.
  Instant first_ended_at_;     ///< Steady time.
  bool stopped_it_ = false;    ///< It was told to stop, and had not ended by then.
  bool tree_gone_ = true;      ///< No process descends from us.
  Stopping stopping_;
  std::uint64_t memory_kills_before_ = 0;
  TaskEnd end_;
};

void Keeper::run() {
  step("lock");
  if (!folder_.lock()) return;
  step("look");
  if (folder_.has_identity() || folder_.has_end()) return;
  if (const Result<void> done = prepare(); !done) refuse(done.error());
  watch();
  finish();
}

// --- Starting -----------------------------------------------------------------------------------

Result<void> Keeper::prepare() {
  TaskFolder::Launch launch = TRY(folder_.read_launch());
  order_ = std::move(launch.order);
  stopping_ = Stopping(order_.stop);
  // What descends from us stays ours, whatever becomes of its parents.
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return fail(system_error({}, "adopt processes", errno));
  }
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  signals_ = Descriptor(::signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return fail(system_error({}, "wait for signals", errno));
  memory_kills_before_ = out_of_memory_kills();
  return start(launch.boot, launch.mark);
}

/// Everything up to the start of the program; nothing once the order to stop is there.
Result<void> Keeper::start(const std::string& boot, const std::string& mark) {
  take_signals();
  if (stopping_.begun()) return {};
  TRY(look_at_files());
  if (!order_.hosts.empty()) TRY(write_hosts());
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing.valid()) return fail(system_error("/dev/null", "open it", errno));
  const OutputOrder& to = order_.output;
  const bool apart = !order_.terminal && !to.errors.empty() && to.errors != to.output;
  const Descriptor output = TRY(open_output(to.output));
  const Descriptor errors = apart ? TRY(open_output(to.errors)) : Descriptor();
  TaskProcess::Streams streams{.input = nothing.get(),
                               .output = output.get(),
                               .errors = apart ? errors.get() : output.get()};
  if (terminal_) {
    streams.input = terminal_->task_input();
    streams.output = streams.errors = terminal_->task_output();
  }
  step("fork");
  task_ = TRY(TaskProcess::make(order_, mark, streams));
  tree_gone_ = false;
  if (order_.cgroup) {
    cgroup_ = TRY(Cgroup::make(*order_.cgroup, folder_.name()));
    TRY(cgroup_->add(task_.pid()));
  }
  const std::optional<ProcessStat> stat = read_process(task_.pid());
  if (!stat) return fail(Code::io, "cannot read what /proc says of its process");
  step("identity");
  TRY(folder_.write_identity({task_.pid(), stat->start_ticks, boot, mark}));
  step("release");
  take_signals();
  if (stopping_.begun()) {
    task_.give_up();
    return {};
  }
  end_.began_at = time_of_day();
  released_at_ = steady_time();
  released_ = task_.release();
  return {};
}

/// Where its user can read it, and find by the variable only.
Result<void> Keeper::write_hosts() {
  const AsUser rights(order_.user);
  if (!rights.valid()) return fail(system_error({}, "take the rights of its user", errno));
  hosts_ = "/tmp/tutti-hosts-XXXXXX";
  const Descriptor file(::mkostemp(hosts_.data(), O_CLOEXEC));
  if (!file.valid() || !write_all(file.get(), order_.hosts)) {
    return fail(system_error(hosts_, "write it", errno));
  }
  order_.environment.push_back("TUTTI_HOSTFILE=" + hosts_);
  return {};
}

/// With the rights of its user, and none of ours.
Result<void> Keeper::look_at_files() const {
  const AsUser rights(order_.user);
  if (!rights.valid()) return fail(system_error({}, "take the rights of its user", errno));
  return check_files(order_);
}

/// A pipe whose bytes go to the file at `path`, or to the usual place; returns its end for the
/// task. Or a terminal, whose end for the task is its own.
Result<Descriptor> Keeper::open_output(const std::string& path) {
  const bool usual = path.empty();
  OutputFile file =
      TRY(OutputFile::open({.path = usual ? folder_.files().path_of(TaskFolder::output_name) : path,
                            .bytes_max = order_.output.bytes_max,
                            .user = usual ? std::nullopt : order_.user,
                            .mode = usual ? mode_t{0600} : 0666 & ~order_.umask}));
  if (order_.terminal) {
    terminal_ = TRY(Terminal::open(*order_.terminal, order_.user, folder_.files()));
    outputs_.push_back({TRY(terminal_->output()), std::move(file), &*terminal_});
    return Descriptor();
  }
  Pipe pipe = TRY(make_pipe());
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(pipe.read.get(), F_SETPIPE_SZ, pipe_bytes);
  // Programs open /dev/stderr again, for which the user must own what it is.
  if (order_.user && ::geteuid() == 0 &&
      ::fchown(pipe.write.get(), order_.user->uid, order_.user->gid) != 0) {
    return fail(system_error({}, "give its output to its user", errno));
  }
  outputs_.push_back({std::move(pipe.read), std::move(file)});
  return std::move(pipe.write);
}

void Keeper::refuse(const Error& why) {
  task_.give_up();
  end_.cause = EndCause::refused;
  end_.reason = why.where.empty() ? why.what : why.where + ": " + why.what;
}

// --- Watching -----------------------------------------------------------------------------------

void Keeper::watch() {
  for (;;) {
    // Signals before children: one that dies after it was looked for has a signal left to wake us.
    take_signals();
    reap();
    take_outcome();
    for (Output& output : outputs_) output.take();
    if (terminal_) serve_terminal();
    keep_time();
    if (tree_gone_) return;
    wait_for_something();
  }
}

/// Does what whoever looks at it asks for.
void Keeper::serve_terminal() {
  terminal_->serve();
  for (const int signal : terminal_->take_signals()) {
    // All of its session that did not leave the first one's group, as keys at a terminal do.
    if (released_ && !status_) ::kill(-task_.pid(), signal);
  }
}

/// Whoever looks gets all of it, or is too slow.
void Keeper::flush_terminal() {
  if (!terminal_) return;
  do {
    take_signals();
  } while (!terminal_->flush(stopping_.begun()));
}

void Keeper::wait_for_something() {
  std::vector<pollfd> wanted{{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                             {.fd = task_.outcome_fd(), .events = POLLIN, .revents = 0}};
  for (const Output& output : outputs_) {
    if (!output.waits()) {
      wanted.push_back({.fd = output.pipe.get(), .events = POLLIN, .revents = 0});
    }
  }
  if (terminal_) terminal_->add_wanted(wanted);
  Instant until = stopping_.next();
  if (!stopping_.begun() && !status_ && order_.time_max) {
    until = std::min(until, released_at_ + *order_.time_max);
  }
  if (!stopping_.begun() && status_ && order_.linger) {
    until = std::min(until, first_ended_at_ + *order_.linger);
  }
  int timeout_ms = -1;
  if (until != Instant::max()) {
    // At most an hour at a time, which no int is too small for.
    const std::int64_t us = std::clamp<std::int64_t>((until - steady_time()).us, 0, 3'600'000'000);
    timeout_ms = static_cast<int>((us + 999) / 1000);
  }
  if (terminal_ && terminal_->is_behind())
    timeout_ms = timeout_ms < 0 ? 1000 : std::min(timeout_ms, 1000);
  ::poll(wanted.data(), wanted.size(), timeout_ms);
}

/// Whether it was executed.
void Keeper::take_outcome() {
  if (!released_ || task_.outcome_fd() < 0) return;
  pollfd known{.fd = task_.outcome_fd(), .events = POLLIN, .revents = 0};
  if (::poll(&known, 1, 0) != 1) return;
  const std::optional<Error> failed = task_.outcome();
  if (terminal_) terminal_->begin();  // The task has it now, or nobody.
  if (failed) return refuse(*failed);
  end_.began = true;
  step("started");
  // On a full disk nobody hears of the start before the end.
  disregard(folder_.mark_started());
}

void Keeper::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = uninterrupted([&] { return ::waitpid(-1, &status, WNOHANG); });
    if (pid < 0) tree_gone_ = true;
    if (pid <= 0) return;
    if (pid != task_.pid()) continue;
    status_ = status;
    first_ended_at_ = steady_time();
  }
}

void Keeper::take_signals() {
  signalfd_siginfo got{};
  while (uninterrupted([&] { return ::read(signals_.get(), &got, sizeof got); }) > 0) {
    if (got.ssi_signo == SIGTERM) stopping_.begin(EndCause::stopped);
  }
}

void Keeper::keep_time() {
  const Instant now = steady_time();
  if (!status_ && order_.time_max && now >= released_at_ + *order_.time_max) {
    stopping_.begin(EndCause::time_limit);
  }
  if (status_ && order_.linger && now >= first_ended_at_ + *order_.linger) {
    stopping_.begin(EndCause::ended);
  }
  while (const std::optional<Stopping::Signal> due = stopping_.due(now)) {
    if (!status_) stopped_it_ = true;
    if (due->to_all) {
      signal_descendants(::getpid(), due->number);
      if (due->number == SIGKILL && cgroup_) cgroup_->kill();
      // Who sits at a terminal is deaf to SIGTERM, and who is suspended to all.
      if (due->number == SIGTERM && has_tty()) signal_descendants(::getpid(), SIGHUP);
      if (due->number == SIGTERM) signal_descendants(::getpid(), SIGCONT);
    } else if (!status_) {
      ::kill(task_.pid(), due->number);
    }
  }
}

// --- The end ------------------------------------------------------------------------------------

void Keeper::finish() {
  take_outcome();
  for (Output& output : outputs_) {
    // All of the task is gone, so what is there is all; somebody else may still hold the other end.
    for (int turn = 0; turn < 4; ++turn) {
      flush_terminal();
      if (!output.take()) break;
    }
    output.file.finish();
    end_.output_bytes += output.file.bytes();
    end_.dropped_bytes += output.file.dropped();
    end_.rotated_bytes += output.file.rotated();
  }
  flush_terminal();
  if (!hosts_.empty()) ::unlink(hosts_.c_str());
  say_how_it_ended();
  if (cgroup_) cgroup_->remove();
  step("end");
  // Room for it was kept when the task began. Where it cannot be written all the same, it is better
  // to wait than to leave no word, unless nobody wants to hear it.
  for (int turn = 0; turn < 3600 && !folder_.write_end(end_); ++turn) {
    if (folder_.files().is_removed()) return;
    ::sleep(1);
  }
  step("ended");
}

void Keeper::say_how_it_ended() {
  end_.ended_at = time_of_day();
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  end_.cpu = span_of(used.ru_utime) + span_of(used.ru_stime);
  end_.rss_max_kib = used.ru_maxrss;
  if (end_.cause == EndCause::refused) return;
  if (!released_) {
    end_.cause = EndCause::stopped;
    end_.exit_code = TaskEnd::terminated;
    return;
  }
  const int status = status_.value_or(0);
  end_.exit_code = exit_code_of(status);
  if (WIFSIGNALED(status)) {
    end_.signal = WTERMSIG(status);
    end_.core_dumped = WCOREDUMP(status);
  }
  if (stopped_it_) {
    end_.cause = stopping_.cause();
    if (end_.exit_code == 0) end_.exit_code = TaskEnd::terminated;
  } else if (ran_out_of_memory()) {
    end_.cause = EndCause::out_of_memory;
  }
}

/// The group knows for sure. Without one: it was killed, not by us, and the kernel has killed
/// somebody for want of memory meanwhile.
bool Keeper::ran_out_of_memory() const {
  if (cgroup_) return cgroup_->ran_out_of_memory();
  return end_.signal == SIGKILL && out_of_memory_kills() != memory_kills_before_;
}

}  // namespace

int keep(const std::string& folder, const StepHook& before) {
  // The order to stop must not be lost, however early it comes.
  sigset_t awaited;
  sigemptyset(&awaited);
  for (const int signal : {SIGCHLD, SIGTERM}) sigaddset(&awaited, signal);
  ::sigprocmask(SIG_SETMASK, &awaited, nullptr);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGHUP, SIGINT}) ::signal(signal, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);  // Ignored, it would hide how children ended.
  Result<TaskFolder> opened = TaskFolder::open(folder);
  if (!opened) return 1;
  ::umask(0);  // The modes that we name are what we mean.
  // So that no disk is kept from being unmounted.
  if (::chdir("/") != 0) return 1;
  Keeper(*std::move(opened), before).run();
  return 0;
}

}  // namespace tutti
