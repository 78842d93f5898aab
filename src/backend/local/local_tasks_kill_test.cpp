/// Whoever is killed at whatever moment: no task runs twice, none is lost, none survives.
#include <sys/wait.h>
#include <unistd.h>

#include "backend/local/test_tasks.h"
#include "base/prng.h"

namespace tutti::local_tasks_kill_test {

using test::attempt;
using test::nap;
using test::Server;
using test::shell;

/// While it lives, keepers are killed before this step.
class DeadlyKeepers {
 public:
  explicit DeadlyKeepers(const std::string& step) {
    ::setenv("TUTTI_TEST_KEEPER_DIES_AT", step.c_str(), 1);
  }
  DeadlyKeepers(const DeadlyKeepers&) = delete;
  DeadlyKeepers& operator=(const DeadlyKeepers&) = delete;
  ~DeadlyKeepers() { ::unsetenv("TUTTI_TEST_KEEPER_DIES_AT"); }
};

/// A server in a process of its own, which starts the attempt and is killed before the step, or
/// after so many microseconds.
void serve_and_die(const std::string& folder, const LaunchOrder& order, const std::string& step,
                   useconds_t after_us = 0) {
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    LocalTasks::Options options{.folder = folder};
    options.before = [&](std::string_view here) {
      if (here == step) ::kill(::getpid(), SIGKILL);
    };
    Result<LocalTasks> tasks = LocalTasks::open(std::move(options));
    if (!tasks) ::_exit(1);
    disregard(tasks->start(attempt(1), order));
    for (;;) ::pause();
  }
  if (step.empty()) {
    ::usleep(after_us);
    ::kill(pid, SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
}

/// The next server hears one end of attempt 1, which fits with what the task did.
void expect_one_end(const test::TempFolder& folder) {
  Server server(folder / "tasks");
  const std::size_t known = server->observe().size();
  if (known == 0) {
    EXPECT_EQ(test::bytes_of(folder / "ran"), "") << "it ran, and nobody knows";
    return;
  }
  const TaskEnd end = server.end_of(attempt(1));
  const std::string ran = test::bytes_of(folder / "ran");
  if (end.cause == EndCause::refused) {
    EXPECT_EQ(ran, "") << "it ran: " << end.reason;
  } else if (end.cause == EndCause::ended) {
    EXPECT_EQ(ran, "once\n");
    EXPECT_EQ(end.exit_code, 3);
  } else {
    EXPECT_EQ(end.cause, EndCause::keeper_killed);
    EXPECT_TRUE(ran.empty() || ran == "once\n") << ran;
    EXPECT_NE(end.exit_code, 0);
  }
  // No order that comes late, and no keeper that comes late, starts it again.
  EXPECT_TRUE(server->start(attempt(1), shell("echo twice >> " + folder / "ran")));
  const Result<pid_t> late = spawn_keeper(server->folder_of(attempt(1)));
  ASSERT_TRUE(late.has_value());
  ASSERT_EQ(::waitpid(*late, nullptr, 0), *late);
  EXPECT_EQ(test::bytes_of(folder / "ran"), ran);
}

TEST(LocalTasksKillTest, AServerThatIsKilledBeforeAnyStep) {
  for (const char* step : {"folder", "launch", "spawn", "spawned"}) {
    SCOPED_TRACE(step);
    const test::TempFolder folder;
    serve_and_die(folder / "tasks", shell("echo once >> " + folder / "ran" + "; exit 3"), step);
    expect_one_end(folder);
  }
}

TEST(LocalTasksKillTest, AServerThatIsKilledAtAnyMoment) {
  Prng prng(7);
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    const test::TempFolder folder;
    serve_and_die(folder / "tasks", shell("echo once >> " + folder / "ran" + "; exit 3"), "",
                  prng.below(60'000));
    expect_one_end(folder);
  }
}

TEST(LocalTasksKillTest, AKeeperThatIsKilledBeforeAnyStep) {
  for (const char* step :
       {"lock", "look", "fork", "identity", "release", "started", "end", "ended"}) {
    SCOPED_TRACE(step);
    const test::TempFolder folder;
    {
      Server server(folder / "tasks");
      const DeadlyKeepers deadly(step);
      ASSERT_TRUE(server->start(attempt(1), shell("echo once >> " + folder / "ran" + "; exit 3")));
      const TaskEnd end = server.end_of(attempt(1));
      const std::string ran = test::bytes_of(folder / "ran");
      if (step == std::string_view("ended")) {
        EXPECT_EQ(end.cause, EndCause::ended);
      } else if (step != std::string_view("started") && step != std::string_view("end")) {
        EXPECT_EQ(ran, "") << end.reason;
      }
    }
    expect_one_end(folder);
  }
}

TEST(LocalTasksKillTest, ServerAndKeeperAreKilled) {
  for (const char* step : {"lock", "fork", "identity", "release", "started", "end", "ended"}) {
    SCOPED_TRACE(step);
    const test::TempFolder folder;
    {
      const DeadlyKeepers deadly(step);
      serve_and_die(folder / "tasks", shell("echo once >> " + folder / "ran" + "; exit 3"),
                    "spawned");
    }
    expect_one_end(folder);
  }
}

TEST(LocalTasksKillTest, WhatAKilledKeeperLeavesIsKilledAndReported) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  // One that is tied to nobody, and one below it without the mark of the task.
  ASSERT_TRUE(server->start(attempt(1), shell("(setsid sh -c 'env -i sleep " + nap +
                                              "; true' &) ; "
                                              "trap '' TERM; sleep " +
                                              nap)));
  ASSERT_TRUE(test::wait_for([] { return test::processes_with(nap).size() >= 4; }));
  ASSERT_TRUE(server.is_running(attempt(1)));
  const Result<TaskFolder> task = TaskFolder::open(server->folder_of(attempt(1)));
  ASSERT_TRUE(task.has_value());
  const pid_t keeper = task->holder().value_or(0);
  ASSERT_GT(keeper, 0);
  ASSERT_EQ(::kill(keeper, SIGKILL), 0);
  const TaskEnd end = server.end_of(attempt(1));
  EXPECT_EQ(end.cause, EndCause::keeper_killed);
  EXPECT_EQ(end.exit_code, TaskEnd::killed);
  EXPECT_TRUE(test::processes_with(nap).empty());
}

TEST(LocalTasksKillTest, WhoeverHasTheNumberNowIsLeftInPeace) {
  const test::TempFolder folder;
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    for (;;) ::pause();
  }
  const std::optional<ProcessStat> stat = read_process(stranger);
  ASSERT_TRUE(stat.has_value());
  TaskIdentity identity{.pid = stranger,
                        .start_ticks = stat->start_ticks - 1,
                        .boot = boot_id(),
                        .mark = "0123456789abcdef0123456789abcdef"};
  EXPECT_EQ(kill_remains(identity), 0U);
  // The same through the records of an attempt whose keeper is gone.
  {
    Server first(folder / "tasks");
    first.leave_alone();
    const Result<OpenFolder> tasks = OpenFolder::open(folder / "tasks");
    ASSERT_TRUE(tasks.has_value());
    const Result<TaskFolder> left = TaskFolder::make(*tasks, attempt(1));
    ASSERT_TRUE(left.has_value());
    ASSERT_TRUE(left->write_identity(identity).has_value());
    ASSERT_TRUE(left->mark_started().has_value());
  }
  Server server(folder / "tasks");
  EXPECT_EQ(server.end_of(attempt(1)).cause, EndCause::keeper_killed);
  EXPECT_TRUE(read_process(stranger).has_value());
  EXPECT_FALSE(read_process(stranger)->dead());
  identity.boot = "another start";
  identity.start_ticks = stat->start_ticks;
  EXPECT_EQ(kill_remains(identity), 0U) << "that was before the machine restarted";
  identity.boot = boot_id();
  EXPECT_EQ(kill_remains(identity), 1U);
  int status = 0;
  ASSERT_EQ(::waitpid(stranger, &status, 0), stranger);
  EXPECT_EQ(kill_remains(identity), 0U);
}

}  // namespace tutti::local_tasks_kill_test
