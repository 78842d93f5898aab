/// For the tests of backend/local/: a folder for tasks, a server that waits for what it hears, and
/// short orders. The test program is also the keeper: main_test.cpp.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/local/local_tasks.h"
#include "backend/local/processes.h"

namespace tutti::test {

/// A new folder in memory where there is such a place, gone with this object.
class TempFolder {
 public:
  TempFolder() {
    // In memory, where the user of the test may write there.
    for (const std::string& parent : {std::string("/dev/shm"), testing::TempDir()}) {
      std::string name = parent + "/tutti-XXXXXX";
      if (::mkdtemp(name.data()) == nullptr) continue;
      path_ = name;
      std::filesystem::permissions(path_, std::filesystem::perms::all);
      return;
    }
    ADD_FAILURE() << "there is no folder for temporary files";
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// A library that looks like NVIDIA's (tests/fake_nvml): it lies beside the program of the tests.
inline std::string fake_nvml() {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename("libfake_nvml.so");
}

/// What can be read of it: a process may end while its file in /proc is read.
inline std::string bytes_of(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

inline AttemptId attempt(std::uint64_t job, std::uint32_t number = 1) {
  return {.task = {JobId(job), 0}, .attempt = number};
}

inline LaunchOrder shell(const std::string& script) {
  return {.arguments = {"/bin/sh", "-c", script},
          .environment = {"PATH=/usr/local/bin:/usr/bin:/bin"},
          .stop = {.term_grace = Duration::milliseconds(300)}};
}

/// Waits until it is so, at most a while; returns whether it became so.
inline bool wait_for(const std::function<bool()>& is_so, int seconds = 20) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// Seconds to sleep, many, and unlike those of other test programs: by them processes are found.
inline const std::string nap = std::to_string(10'000'000 + ::getpid()) + ".5";

/// Processes whose command line contains the text, dead ones not counted.
inline std::vector<pid_t> processes_with(const std::string& text) {
  std::vector<pid_t> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || pid == ::getpid()) continue;
    const std::optional<ProcessStat> stat = read_process(pid);
    if (!stat || stat->dead()) continue;
    if (bytes_of(entry.path() / "cmdline").find(text) != std::string::npos) out.push_back(pid);
  }
  return out;
}

/// LocalTasks with somebody who listens. At its end whatever it still has is stopped.
class Server {
 public:
  explicit Server(const std::string& folder, LocalTasks::Options options = {}) {
    options.folder = folder;
    Result<LocalTasks> opened = LocalTasks::open(std::move(options));
    EXPECT_TRUE(opened.has_value()) << opened.error().text();
    if (opened) tasks_ = std::make_unique<LocalTasks>(*std::move(opened));
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    if (tasks_ == nullptr || left_alone_) return;
    for (const LocalTasks::Seen& each : tasks_->observe()) tasks_->stop(each.id);
    EXPECT_TRUE(until([&] { return quiet(); })) << "something would not stop";
  }
  LocalTasks* operator->() { return tasks_.get(); }

  /// Goes without a word to its tasks.
  void leave_alone() { left_alone_ = true; }
  bool quiet() const {
    for (const LocalTasks::Seen& each : tasks_->observe()) {
      if (!LocalTasks::is_over(each.phase)) return false;
    }
    return true;
  }

  /// Hears reports until it is so.
  bool until(const std::function<bool()>& is_so, int seconds = 20) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    for (;;) {
      for (TaskReport& each : tasks_->take_reports()) heard_[each.id].push_back(std::move(each));
      if (is_so()) return true;
      if (std::chrono::steady_clock::now() > end) return false;
      pollfd wake{.fd = tasks_->wake_fd(), .events = POLLIN, .revents = 0};
      ::poll(&wake, 1, 50);
    }
  }
  const std::vector<TaskReport>& heard(const AttemptId& id) { return heard_[id]; }
  bool is_running(const AttemptId& id) {
    return until([&] { return !heard(id).empty(); }) &&
           heard(id).back().kind == TaskReport::Kind::started;
  }
  /// How it ended, or was refused, once that is heard.
  TaskEnd end_of(const AttemptId& id) {
    const auto is_over = [&] {
      return !heard(id).empty() && heard(id).back().kind != TaskReport::Kind::started;
    };
    EXPECT_TRUE(until(is_over)) << to_string(id) << " is not over";
    return is_over() ? heard(id).back().end : TaskEnd{.reason = "not over"};
  }
  /// Starts it and waits for its end.
  TaskEnd run(const AttemptId& id, const LaunchOrder& order) {
    disregard(tasks_->start(id, order));
    return end_of(id);
  }
  std::string output_of(const AttemptId& id) {
    return bytes_of(tasks_->folder_of(id) + "/" + TaskFolder::output_name);
  }

 private:
  std::unique_ptr<LocalTasks> tasks_;
  std::map<AttemptId, std::vector<TaskReport>> heard_;
  bool left_alone_ = false;
};

}  // namespace tutti::test
