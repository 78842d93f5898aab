/// What a keeper does with its task: streams, limits, trees of processes, time.
#include "backend/local/keeper.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "backend/local/test_tasks.h"

namespace tutti::keeper_test {

using test::attempt;
using test::nap;
using test::Server;
using test::shell;

constexpr Duration soon = Duration::milliseconds(100);

TEST(KeeperTest, AStopReachesWhatHidesFromIt) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(
      attempt(1), shell("(setsid sh -c 'trap \"\" TERM HUP INT; sleep " + nap + "; sleep " + nap +
                        "' &);"
                        "trap '' TERM; while :; do sleep " +
                        nap + "; done")));
  ASSERT_TRUE(test::wait_for([] { return test::processes_with(nap).size() >= 4; }));
  ASSERT_TRUE(server.is_running(attempt(1)));
  server->stop(attempt(1));
  const TaskEnd end = server.end_of(attempt(1));
  EXPECT_EQ(end.cause, EndCause::stopped);
  EXPECT_EQ(end.exit_code, TaskEnd::killed);
  EXPECT_TRUE(test::processes_with(nap).empty());
}

TEST(KeeperTest, ATaskIsOverWhenAllOfItIs) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  const TaskEnd end =
      server.run(attempt(1), shell("(setsid sh -c 'sleep 0.3; echo late' &); echo early; exit 4"));
  EXPECT_EQ(end.exit_code, 4);
  EXPECT_EQ(end.cause, EndCause::ended);
  EXPECT_EQ(server.output_of(attempt(1)), "early\nlate\n");
}

TEST(KeeperTest, WhatLingersForTooLongIsStopped) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  LaunchOrder order = shell("setsid sleep " + nap + " & exit 0");
  order.linger = soon;
  const TaskEnd end = server.run(attempt(1), order);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.cause, EndCause::ended);
  EXPECT_TRUE(test::processes_with(nap).empty());
}

TEST(KeeperTest, TheCheckpointSignalComesFirst) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  LaunchOrder order =
      shell("trap 'echo saved; exit 0' USR1; echo up; while :; do sleep 0.01; done");
  order.stop = {.checkpoint_signal = SIGUSR1, .checkpoint_grace = Duration::seconds(60)};
  ASSERT_TRUE(server->start(attempt(1), order));
  ASSERT_TRUE(server.until([&] { return server.output_of(attempt(1)) == "up\n"; }));
  server->stop(attempt(1));
  EXPECT_EQ(server.end_of(attempt(1)).exit_code, TaskEnd::terminated);
  EXPECT_EQ(server.output_of(attempt(1)), "up\nsaved\n");
}

TEST(KeeperTest, WhatIsSuspendedIsStoppedAsWell) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  LaunchOrder order = shell("kill -STOP $$");
  order.stop.term_grace = Duration::seconds(60);
  ASSERT_TRUE(server->start(attempt(1), order));
  ASSERT_TRUE(server.is_running(attempt(1)));
  server->stop(attempt(1));
  EXPECT_EQ(server.end_of(attempt(1)).exit_code, TaskEnd::terminated);
}

TEST(KeeperTest, TimeIsLimited) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  LaunchOrder order = shell("trap 'exit 0' TERM; while :; do sleep 0.01; done");
  order.time_max = soon;
  const TaskEnd end = server.run(attempt(1), order);
  EXPECT_EQ(end.cause, EndCause::time_limit);
  EXPECT_EQ(end.exit_code, TaskEnd::terminated);
}

TEST(KeeperTest, ASignalIsTold) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  const TaskEnd end = server.run(attempt(1), shell("kill -SEGV $$"));
  EXPECT_EQ(end.cause, EndCause::ended);
  EXPECT_EQ(end.signal, SIGSEGV);
  EXPECT_EQ(end.exit_code, 128 + SIGSEGV);
}

TEST(KeeperTest, WhatIsUsedIsCounted) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  const TaskEnd end =
      server.run(attempt(1), shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"));
  EXPECT_GT(end.cpu, Duration::milliseconds(10));
  EXPECT_LT(end.cpu, Duration::seconds(20));
}

TEST(KeeperTest, OutputAndErrorsCanGoApart) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  LaunchOrder order = shell("echo out; echo error >&2; echo again > /dev/stdout");
  order.output = {.output = folder / "out", .errors = folder / "err"};
  const TaskEnd end = server.run(attempt(1), order);
  EXPECT_EQ(test::bytes_of(folder / "out"), "out\nagain\n") << end.reason;
  EXPECT_EQ(test::bytes_of(folder / "err"), "error\n");
  order.output = {.output = "/dev/null", .errors = folder / "err"};
  server.run(attempt(2), order);
  EXPECT_EQ(test::bytes_of(folder / "err"), "error\nerror\n");
}

TEST(KeeperTest, AHundredMegabytesWithNobodyReading) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  LaunchOrder order = shell("head -c 104857600 /dev/zero");
  order.output.bytes_max = 8 << 20;
  const TaskEnd end = server.run(attempt(1), order);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.output_bytes, 104857600);
  EXPECT_EQ(end.dropped_bytes, 0);
  const std::string now = server.output_of(attempt(1));
  const std::string before =
      test::bytes_of(server->folder_of(attempt(1)) + "/" + TaskFolder::output_name + ".1");
  EXPECT_LE(now.size(), 4U << 20U);
  EXPECT_EQ(before.size(), 4U << 20U);
  EXPECT_EQ(end.rotated_bytes + static_cast<std::int64_t>(now.size() + before.size()), 104857600);
  std::printf("100 MB of output in %.2f s\n", (end.ended_at - end.began_at).in_seconds());
}

TEST(KeeperTest, WhoeverHoldsTheOutputOpenDelaysNothing) {
  const test::TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(attempt(1), shell("echo $$ > " + folder / "pid" + "; read x < " +
                                              folder / "pipe" + "; echo done")));
  std::string pid;
  ASSERT_TRUE(
      test::wait_for([&] { return (pid = test::bytes_of(folder / "pid")).ends_with("\n"); }));
  pid.pop_back();
  // A stranger that has opened the task's output for itself.
  std::ofstream stranger("/proc/" + pid + "/fd/1");
  ASSERT_TRUE(stranger.is_open());
  std::ofstream(folder / "pipe") << "x\n";
  EXPECT_EQ(server.end_of(attempt(1)).exit_code, 0);
  EXPECT_EQ(server.output_of(attempt(1)), "done\n");
}

TEST(KeeperTest, AKeeperWhoseFolderIsGoneGoesToo) {
  const test::TempFolder folder;
  {
    Server server(folder / "tasks");
    ASSERT_TRUE(server->start(attempt(1), shell("sleep " + nap)));
    ASSERT_TRUE(server.is_running(attempt(1)));
    server.leave_alone();
  }
  std::filesystem::remove_all(folder / "tasks");
  EXPECT_TRUE(test::wait_for([&] {
    for (const pid_t pid : test::processes_with(nap)) ::kill(pid, SIGKILL);
    return test::processes_with(folder / "tasks").empty();
  }));
}

// From the order to what the task itself does first.
TEST(KeeperTest, ATaskBeginsSoon) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  std::vector<double> all;
  std::int64_t rss_kib = 0;
  for (std::uint64_t job = 0; job < 9; ++job) {
    const Instant before = time_of_day();
    ASSERT_TRUE(server->start(attempt(job), shell("echo; sleep 1000")));
    ASSERT_TRUE(server.is_running(attempt(job)));
    const std::string output = server->folder_of(attempt(job)) + "/" + TaskFolder::output_name;
    ASSERT_TRUE(test::wait_for([&] { return test::bytes_of(output) == "\n"; }));
    struct stat found{};
    ASSERT_EQ(::stat(output.c_str(), &found), 0);
    const std::int64_t wrote_us =
        found.st_mtim.tv_sec * std::int64_t{1'000'000} + found.st_mtim.tv_nsec / 1000;
    all.push_back(static_cast<double>(wrote_us - before.us) / 1000);
    const Result<TaskFolder> task = TaskFolder::open(server->folder_of(attempt(job)));
    std::ifstream status("/proc/" + std::to_string(task->holder().value_or(0)) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) rss_kib = std::atoll(line.c_str() + 6);
    }
  }
  std::ranges::sort(all);
  std::printf("start to first write: median %.1f ms, most %.1f ms; a keeper has %lld KiB\n",
              all[all.size() / 2], all.back(), static_cast<long long>(rss_kib));
  EXPECT_LT(all[all.size() / 2], 1000.0);
}

}  // namespace tutti::keeper_test
