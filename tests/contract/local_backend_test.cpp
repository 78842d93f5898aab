/// Tasks as processes of this machine keep the contract.
#include "backend/local/local_backend.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "backend/local/processes.h"
#include "sched/test_fleet.h"
#include "tests/contract/backend_contract.h"

namespace tutti::contract::local_backend_test {

namespace fs = std::filesystem;

/// An engine's orders on their way to the backend, where they may be lost or doubled.
class Line final : public Backend {
 public:
  explicit Line(Backend& backend) : backend_(backend) {}
  void execute(const Action& action, const State& state) override {
    for (int times = 0; times < (deaf ? 0 : twice ? 2 : 1); ++times) {
      backend_.execute(action, state);
    }
  }
  std::vector<Observed> observe() override { return backend_.observe(); }

  bool deaf = false;
  bool twice = false;

 private:
  Backend& backend_;
};

std::string new_folder() {
  std::string name = fs::is_directory("/dev/shm") ? "/dev/shm/tutti-XXXXXX" : "/tmp/tutti-XXXXXX";
  return ::mkdtemp(name.data());
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Two nodes on one machine. A task is a shell that reads its exit code from a pipe in `folder_`.
class LocalWorld final : public World {
 public:
  LocalWorld()
      : folder_(new_folder()),
        tasks_(open()),
        backend_(tasks_,
                 [this](const Action& action, const State& state) { return order(action, state); }),
        line_(backend_) {
    std::signal(SIGPIPE, SIG_IGN);  // A task may end while it is told to.
  }
  ~LocalWorld() override {
    for (const LocalTasks::Seen& each : tasks_.observe()) tasks_.stop(each.id);
    settle();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  Backend& backend() override { return line_; }
  std::vector<NodeSpec> nodes() const override {
    return {test::node("n0", {.gpus = 2}), test::node("n1", {.gpus = 2})};
  }
  TaskShape task() const override { return test::task(1000, 1); }

  std::vector<Event> settle() override {
    std::vector<Event> reports;
    std::ofstream(gate()).flush();
    do {
      pollfd wake{.fd = backend_.wake_fd(), .events = POLLIN, .revents = 0};
      if (!quiet()) ::poll(&wake, 1, 1000);
      std::vector<Event> events = backend_.take_events();
      backend_.acknowledge(events);
      std::ranges::move(events, std::back_inserter(reports));
    } while (!quiet());
    fs::remove(gate());
    if (lost_) reports.clear();
    if (late_) std::ranges::reverse(reports);
    if (line_.twice) reports.insert(reports.end(), reports.begin(), reports.end());
    refuses_ = slow_ = lost_ = late_ = line_.twice = line_.deaf = false;
    return reports;
  }

  bool make(Trouble trouble, std::span<const TaskId>) override {
    switch (trouble) {
      case Trouble::refused:
        return refuses_ = true;
      case Trouble::slow:
        return slow_ = true;
      case Trouble::lost:
        return lost_ = true;
      case Trouble::late:
        return late_ = true;
      case Trouble::twice:
        return line_.twice = true;
      case Trouble::deaf:
        return line_.deaf = true;
    }
    return false;
  }

  void finish(const TaskId& task, std::int32_t exit_code) override {
    const std::vector<Running> there = running(task);
    if (there.empty()) return;  // It was told to stop, and just has.
    const AttemptId id{.task = task, .attempt = there[0].attempt};
    const std::string word = std::to_string(exit_code) + "\n";
    // Unless it is being stopped, it opens the pipe soon.
    while (!has_ended(id)) {
      const Descriptor pipe(::open(pipe_of(id).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
      if (pipe.valid()) write_all(pipe.get(), word);
      ::usleep(500);
    }
  }

  std::vector<Running> running(const TaskId& task) const override {
    std::vector<Running> out;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_ + "/tasks")) {
      const std::optional<AttemptId> id = attempt_of(entry.path().filename().string());
      if (!id || id->task != task) continue;
      const auto folder = TaskFolder::open(entry.path());
      const auto identity = folder->read_identity();
      if (!identity) continue;
      const auto process = read_process(identity->pid);
      if (!process || process->dead() || process->start_ticks != identity->start_ticks) continue;
      const std::string environment =
          text_of("/proc/" + std::to_string(identity->pid) + "/environ");
      if (environment.find(identity->mark) == std::string::npos) continue;  // Not executed yet.
      out.push_back({.attempt = id->attempt, .node = value_of(environment, "NODE")});
      for (const char ordinal : value_of(environment, "DEVICES")) {
        out.back().devices.add(static_cast<unsigned>(ordinal - '0'));
      }
    }
    return out;
  }

 private:
  LocalTasks open() {
    Result<LocalTasks> tasks =
        LocalTasks::open({.folder = folder_ + "/tasks",
                          .spawn = [this](const std::string& folder) { return spawn(folder); }});
    EXPECT_TRUE(tasks.has_value()) << tasks.error().text();
    return *std::move(tasks);
  }

  /// A keeper without an exec, which in a build with sanitizers takes far longer than the rest.
  Result<pid_t> spawn(const std::string& folder) const {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::close_range(3, ~0U, 0);
    ::setsid();
    while (slow_ && !fs::exists(gate())) ::usleep(500);
    ::_exit(keep(folder));
  }

  Result<LaunchOrder> order(const Action& action, const State& state) const {
    if (refuses_) return fail(Code::conflict, "the node said no");
    const AttemptId id{.task = action.task, .attempt = action.attempt};
    ::mkfifo(pipe_of(id).c_str(), 0600);
    std::string devices = "DEVICES=";
    action.devices.each([&](unsigned ordinal) { devices += std::to_string(ordinal); });
    return LaunchOrder{
        .arguments = {"/bin/sh", "-c", "read code < " + pipe_of(id) + "; exit $code"},
        .environment = {"NODE=" + state.fleet().node(action.node).name, devices}};
  }

  /// What starts slowly waits for this file.
  std::string gate() const { return folder_ + "/gate"; }
  /// Whether its keeper says so, heard or not.
  bool has_ended(const AttemptId& id) const {
    return fs::exists(tasks_.folder_of(id) + "/exit.json");
  }

  std::string pipe_of(const AttemptId& id) const { return folder_ + "/" + to_string(id); }

  static std::string value_of(const std::string& environment, const std::string& name) {
    const std::size_t at = environment.find(name + "=");
    if (at == std::string::npos) return "";
    return environment.c_str() + at + name.size() + 1;  // Up to the NUL behind it.
  }

  bool quiet() const {
    using Phase = LocalTasks::Phase;
    return std::ranges::all_of(tasks_.observe(), [&](const LocalTasks::Seen& each) {
      if (each.phase == Phase::running) return !has_ended(each.id);
      return LocalTasks::is_over(each.phase);
    });
  }

  std::string folder_;
  LocalTasks tasks_;
  LocalBackend backend_;
  Line line_;
  bool refuses_ = false;
  bool slow_ = false;
  bool lost_ = false;
  bool late_ = false;
};

std::unique_ptr<World> make_world() { return std::make_unique<LocalWorld>(); }

INSTANTIATE_TEST_SUITE_P(Local, BackendContract, testing::Values(make_world));

}  // namespace tutti::contract::local_backend_test
