/// Orders and reports of one server, and of the next one.
#include "backend/local/local_tasks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "backend/local/test_tasks.h"

namespace tutti::local_tasks_test {

using test::attempt;
using test::nap;
using test::Server;
using test::shell;
using Kind = TaskReport::Kind;
using Phase = LocalTasks::Phase;

TEST(LocalTasksTest, ATaskRunsAndItsEndIsHeard) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(attempt(1), shell("echo hello; echo error >&2; exit 7")).has_value());
  const TaskEnd end = server.end_of(attempt(1));
  EXPECT_EQ(end.cause, EndCause::ended) << end.reason;
  EXPECT_EQ(end.exit_code, 7);
  EXPECT_TRUE(end.began);
  EXPECT_EQ(end.output_bytes, 12);
  EXPECT_GT(end.rss_max_kib, 100);
  EXPECT_GE(end.ended_at, end.began_at);
  EXPECT_EQ(server.output_of(attempt(1)), "hello\nerror\n");
  ASSERT_EQ(server.heard(attempt(1)).size(), 2U);
  EXPECT_EQ(server.heard(attempt(1))[0].kind, Kind::started);
  EXPECT_EQ(test::bytes_of(server->folder_of(attempt(1)) + "/keeper.log"), "");
}

TEST(LocalTasksTest, OneOrderOrManyRunOnce) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  const LaunchOrder order = shell("echo once >> " + folder / "ran");
  for (int times = 0; times < 3; ++times) ASSERT_TRUE(server->start(attempt(1), order));
  server.end_of(attempt(1));
  ASSERT_TRUE(server->start(attempt(1), order));
  ASSERT_TRUE(server.until([&] { return server.quiet(); }));
  EXPECT_EQ(test::bytes_of(folder / "ran"), "once\n");
}

TEST(LocalTasksTest, WhatCannotStartIsRefusedWithTheReason) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  LaunchOrder order = shell("true");
  order.directory = folder / "nowhere";
  const Result<void> done = server->start(attempt(1), order);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().where, "directory:" + order.directory);
  EXPECT_NE(server.end_of(attempt(1)).reason.find("No such file"), std::string::npos);
  // It stays refused, whatever is ordered later.
  EXPECT_TRUE(server->start(attempt(1), shell("true")));
  EXPECT_EQ(server->observe().at(0).phase, Phase::refused);
}

TEST(LocalTasksTest, WhatFailsInTheNewProcessIsARefusalToo) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  const std::string script = folder / "script";
  std::ofstream(script) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(script, std::filesystem::perms::all);
  LaunchOrder order = shell("");
  order.arguments = {script};
  const TaskEnd end = server.run(attempt(1), order);
  EXPECT_EQ(end.cause, EndCause::refused);
  EXPECT_EQ(end.reason, "cannot execute the program: No such file or directory");
  EXPECT_FALSE(end.began);
  EXPECT_EQ(server.heard(attempt(1)).size(), 1U);
}

TEST(LocalTasksTest, StoppedWhileItRuns) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(attempt(1), shell("sleep 1000")));
  ASSERT_TRUE(server.is_running(attempt(1)));
  EXPECT_EQ(server->observe().at(0).phase, Phase::running);
  server->stop(attempt(1));
  server->stop(attempt(1));
  const TaskEnd end = server.end_of(attempt(1));
  EXPECT_EQ(end.cause, EndCause::stopped);
  EXPECT_EQ(end.exit_code, TaskEnd::terminated);
  EXPECT_EQ(end.signal, SIGTERM);
}

TEST(LocalTasksTest, WhatEndsWellWhenToldToHasNotSucceeded) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(attempt(1), shell("trap 'exit 0' TERM; echo up; sleep 1000 & wait")));
  ASSERT_TRUE(server.until([&] { return server.output_of(attempt(1)) == "up\n"; }));
  server->stop(attempt(1));
  EXPECT_EQ(server.end_of(attempt(1)).exit_code, TaskEnd::terminated);
}

TEST(LocalTasksTest, StoppedBeforeItsKeeperListened) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(attempt(1), shell("echo ran")));
  server->stop(attempt(1));
  const TaskEnd end = server.end_of(attempt(1));
  EXPECT_EQ(end.cause, EndCause::stopped);
  EXPECT_EQ(end.exit_code, TaskEnd::terminated);
  EXPECT_FALSE(end.began);
  EXPECT_EQ(server.heard(attempt(1)).size(), 1U);
  EXPECT_EQ(server.output_of(attempt(1)), "");
}

TEST(LocalTasksTest, StoppedBeforeItWasStartedNeverStarts) {
  const test::TempFolder folder;
  {
    Server server(folder / "tasks");
    server->stop(attempt(1, 3));
    EXPECT_EQ(server.end_of(attempt(1, 3)).exit_code, TaskEnd::terminated);
  }
  Server server(folder / "tasks");
  for (const std::uint32_t number : {1U, 2U, 3U}) {
    EXPECT_TRUE(server->start(attempt(1, number), shell("true")));
  }
  EXPECT_EQ(server->observe().size(), 1U);
  EXPECT_EQ(server.run(attempt(1, 4), shell("true")).exit_code, 0);
}

TEST(LocalTasksTest, TwoAttemptsOfOneTaskNeverRunTogether) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(attempt(1, 1), shell("sleep 1000")));
  const Result<void> second = server->start(attempt(1, 2), shell("true"));
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().what, "attempt 1 of the same task is not over");
}

TEST(LocalTasksTest, WhatIsTrueIsSaidAgain) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(attempt(1), shell("sleep 1000")));
  ASSERT_TRUE(server->start(attempt(1), shell("")));
  EXPECT_TRUE(server->take_reports().empty()) << "it is only starting";
  ASSERT_TRUE(server.is_running(attempt(1)));
  server->refuse(attempt(1), "whatever");
  ASSERT_TRUE(server.until([&] { return server.heard(attempt(1)).size() == 2; }));
  server->stop(attempt(1));
  server.end_of(attempt(1));
  server->stop(attempt(1));
  ASSERT_TRUE(server.until([&] { return server.heard(attempt(1)).size() == 4; }));
  EXPECT_EQ(server.heard(attempt(1))[3].end, server.heard(attempt(1))[2].end);
  server->stop(attempt(1, 2));
  server->stop(attempt(1));
  EXPECT_EQ(server->take_reports().size(), 1U) << "of the newer one alone";
}

TEST(LocalTasksTest, TheNextServerFindsWhatRuns) {
  const test::TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "go").c_str(), 0600), 0);
  {
    Server server(folder / "tasks");
    ASSERT_TRUE(server->start(attempt(1), shell("read line < " + folder / "go" + "; echo $line")));
    ASSERT_TRUE(server->start(attempt(2), shell("sleep 1000")));
    ASSERT_TRUE(server.is_running(attempt(2)));
    server.leave_alone();
  }
  Server server(folder / "tasks");
  ASSERT_TRUE(server.is_running(attempt(1)));
  ASSERT_TRUE(server.is_running(attempt(2)));
  std::ofstream(folder / "go") << "on\n";
  EXPECT_EQ(server.end_of(attempt(1)).exit_code, 0);
  EXPECT_EQ(server.output_of(attempt(1)), "on\n");
  server->stop(attempt(2));
  EXPECT_EQ(server.end_of(attempt(2)).cause, EndCause::stopped);
}

TEST(LocalTasksTest, AnEndIsHeardUntilItIsAcknowledged) {
  const test::TempFolder folder;
  {
    Server server(folder / "tasks");
    ASSERT_TRUE(server->start(attempt(1), shell("sleep 0.1; exit 5")));
    ASSERT_TRUE(server.is_running(attempt(1)));
    server.leave_alone();
  }
  for (int servers = 0; servers < 2; ++servers) {
    Server server(folder / "tasks");
    EXPECT_EQ(server.end_of(attempt(1)).exit_code, 5);
    if (servers == 1) server->acknowledge(attempt(1));
  }
  {
    Server server(folder / "tasks");
    EXPECT_TRUE(server->take_reports().empty());
    ASSERT_EQ(server->observe().size(), 1U);
    EXPECT_EQ(server->observe()[0].phase, Phase::ended);
    EXPECT_EQ(server->observe()[0].exit_code, 5);
    EXPECT_TRUE(server->forget(attempt(1)));
    EXPECT_TRUE(server->observe().empty());
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "tasks/1.0.1"));
}

TEST(LocalTasksTest, OneServerAtATime) {
  const test::TempFolder folder;
  const Server server(folder / "tasks");
  const pid_t other = ::fork();
  if (other == 0) {
    const Result<LocalTasks> second = LocalTasks::open({.folder = folder / "tasks"});
    const std::string wanted = "in use by process " + std::to_string(::getppid());
    ::_exit(!second && second.error().what == wanted ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
}

TEST(LocalTasksTest, WhatRanIsGoneWhenTheMachineRestarts) {
  const test::TempFolder folder;
  {
    Server server(folder / "tasks");
    ASSERT_TRUE(server->start(attempt(1), shell("sleep " + nap)));
    ASSERT_TRUE(server->start(attempt(2), shell("exit 3")));
    ASSERT_TRUE(server.is_running(attempt(1)));
    server.end_of(attempt(2));
    server.leave_alone();
  }
  {
    Server server(folder / "tasks", {.boot = "another start"});
    const TaskEnd end = server.end_of(attempt(1));
    EXPECT_EQ(end.cause, EndCause::machine_restarted);
    EXPECT_EQ(end.exit_code, TaskEnd::killed);
    EXPECT_TRUE(end.began);
    EXPECT_EQ(server.end_of(attempt(2)).exit_code, 3) << "that one was over by then";
  }
  // Nothing was killed: those processes cannot be there any more, others have their numbers.
  Server server(folder / "tasks");
  for (const pid_t pid : test::processes_with(nap)) {
    EXPECT_EQ(::kill(pid, SIGKILL), 0);
  }
}

TEST(LocalTasksTest, ManyShortTasksAtOnce) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  constexpr std::uint64_t count = 200;
  for (std::uint64_t job = 0; job < count; ++job) {
    ASSERT_TRUE(server->start(
        attempt(job), shell("echo " + std::to_string(job) + "; exit " + std::to_string(job % 7))));
  }
  ASSERT_TRUE(server.until([&] { return server.quiet(); }, 60));
  for (std::uint64_t job = 0; job < count; ++job) {
    EXPECT_EQ(server.end_of(attempt(job)).exit_code, static_cast<int>(job % 7));
    EXPECT_EQ(server.output_of(attempt(job)), std::to_string(job) + "\n");
  }
}

TEST(LocalTasksTest, NothingOfTheServerIsLeftOpen) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  const int leaky =
      ::open("/dev/null", O_RDONLY);  // NOLINT: not closed at exec, as in any library.
  const TaskEnd end =
      server.run(attempt(1), shell("ls /proc/self/fd; umask; pwd; cat /proc/self/status"));
  ::close(leaky);
  const std::string output = server.output_of(attempt(1));
  // 3 is the folder that ls reads.
  EXPECT_EQ(output.substr(0, 20), "0\n1\n2\n3\n0022\n/\nName:") << end.reason;
  for (const char* line :
       {"SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000", "NoNewPrivs:\t1"}) {
    EXPECT_NE(output.find(line), std::string::npos) << line << " in " << output;
  }
}

TEST(LocalTasksTest, TheTaskHasItsOwnEnvironmentAlone) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  LaunchOrder order = shell("");
  order.arguments = {"env"};
  order.environment.push_back("GREETING=good\nday");
  server.run(attempt(1), order);
  const std::string output = server.output_of(attempt(1));
  EXPECT_TRUE(
      output.starts_with("PATH=/usr/local/bin:/usr/bin:/bin\nGREETING=good\nday\n"
                         "TUTTI_MARK="))
      << output;
  EXPECT_EQ(std::ranges::count(output, '\n'), 4);
}

}  // namespace tutti::local_tasks_test
