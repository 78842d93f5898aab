/// What a task may: as which user, within which limits, barred from what.
#include <grp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/local/shield.h"
#include "backend/local/test_tasks.h"

namespace tutti::rights_test {

using test::attempt;
using test::bytes_of;
using test::Server;
using test::shell;

const TaskUser nobody{.uid = 65534, .gid = 65534, .groups = {1234}};
constexpr const char* no_root = "missing: root, who can become another user";

TEST(RightsTest, ATaskIsItsUserAndNothingMore) {
  if (::geteuid() != 0) GTEST_SKIP() << no_root;
  const test::TempFolder folder;
  Server server(folder / "tasks");
  LaunchOrder order =
      shell("id -u; id -G; echo error > /dev/stderr; cat " + server->folder_of(attempt(1)) +
            "/launch.json; grep -h Cap.*[^0]$ /proc/self/status");
  order.user = nobody;
  order.output.output = folder / "out";
  order.umask = 027;
  const TaskEnd end = server.run(attempt(1), order);
  const std::string output = bytes_of(folder / "out");
  EXPECT_TRUE(output.starts_with("65534\n65534 1234\nerror\ncat: ")) << output << end.reason;
  EXPECT_NE(output.find("Permission denied"), std::string::npos) << output;
  EXPECT_EQ(output.find("CapEff"), std::string::npos) << output;
  struct stat found{};
  ASSERT_EQ(::stat((folder / "out").c_str(), &found), 0);
  EXPECT_EQ(found.st_uid, nobody.uid) << "made with the rights of the task";
  EXPECT_EQ(found.st_mode & 0777U, 0640U);
}

TEST(RightsTest, OutputGoesOnlyWhereTheUserMayWrite) {
  if (::geteuid() != 0) GTEST_SKIP() << no_root;
  const test::TempFolder folder;
  Server server(folder / "tasks");
  std::filesystem::create_directory(folder / "mine");
  std::filesystem::permissions(folder / "mine", std::filesystem::perms::owner_all);
  std::ofstream(folder / "precious") << "precious\n";
  LaunchOrder order = shell("echo ran");
  order.user = nobody;
  std::uint64_t job = 0;
  for (const char* place : {"mine/out", "precious"}) {
    order.output.output = folder / place;
    const TaskEnd end = server.run(attempt(++job), order);
    EXPECT_EQ(end.cause, EndCause::refused) << place;
    EXPECT_NE(end.reason.find("Permission denied"), std::string::npos) << end.reason;
  }
  EXPECT_EQ(bytes_of(folder / "precious"), "precious\n");
  order.output.output = folder / "out";
  order.directory = folder / "mine";
  const TaskEnd end = server.run(attempt(++job), order);
  EXPECT_EQ(end.reason, "cannot enter its directory: Permission denied");
  // To list a folder is no condition for writing there, and links to folders are followed.
  std::filesystem::create_directory(folder / "drop");
  std::filesystem::permissions(folder / "drop", std::filesystem::perms(0733));
  std::filesystem::create_directory_symlink(folder / "drop", folder / "link");
  order.output.output = folder / "link/out";
  order.directory = "/";
  EXPECT_EQ(server.run(attempt(++job), order).exit_code, 0);
  EXPECT_EQ(bytes_of(folder / "drop/out"), "ran\n");
}

// Whether something exists where the user may not look is none of its business.
TEST(RightsTest, ARefusalTellsNoSecrets) {
  if (::geteuid() != 0) GTEST_SKIP() << no_root;
  const test::TempFolder folder;
  Server server(folder / "tasks");
  std::filesystem::create_directories(folder / "mine/there");
  std::ofstream(folder / "mine/program").flush();
  std::filesystem::permissions(folder / "mine", std::filesystem::perms::owner_all);
  std::uint64_t job = 0;
  const auto refusal = [&](const LaunchOrder& order) {
    LaunchOrder asked = order;
    asked.user = nobody;
    const std::string reason = server.run(attempt(++job), asked).reason;
    return reason.substr(reason.rfind(": "));
  };
  LaunchOrder order = shell("true");
  for (const char* name : {"mine/there", "mine/nowhere"}) {
    order.directory = folder / name;
    EXPECT_EQ(refusal(order), ": Permission denied") << name;
  }
  order.directory = "/";
  for (const char* name : {"mine/program", "mine/nothing"}) {
    order.arguments = {folder / name};
    EXPECT_EQ(refusal(order), ": Permission denied") << name;
  }
}

TEST(RightsTest, AnotherUserNeedsRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << no_root;
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
    LaunchOrder order = shell("true");
    order.user = nobody;
    if (!check_values(order)) ::_exit(3);
    order.user->uid = 1;
    const Result<void> done = check_values(order);
    ::_exit(!done && done.error().code == Code::unsupported ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST(RightsTest, LimitsNiceAndCpus) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  LaunchOrder order = shell(
      "ulimit -Sn; ulimit -Hn; ulimit -c; nice; "
      "grep Cpus_allowed_list /proc/self/status");
  order.limits = {{"nofile", 100, 200}, {"core", 0, 0}};
  order.nice = 5;
  order.cpus = {0};
  server.run(attempt(1), order);
  EXPECT_EQ(server.output_of(attempt(1)), "100\n200\n0\n5\nCpus_allowed_list:\t0\n");
  order.cpus = {1000};
  EXPECT_EQ(server.run(attempt(2), order).reason, "cannot set its cpus: Invalid argument");
}

// --- Control groups -----------------------------------------------------------------------------

/// What looks like a delegated folder; the kernel does nothing for it.
class FakeCgroups {
 public:
  FakeCgroups() { std::ofstream(folder_ / "cgroup.controllers") << "cpuset cpu io memory pids\n"; }
  const std::string& path() const { return folder_.path(); }
  std::string text_of(const std::string& file) const { return bytes_of(folder_ / file); }
  void say(const std::string& file, const std::string& text) {
    std::ofstream(folder_ / file) << text;
  }

 private:
  test::TempFolder folder_;
};

TEST(RightsTest, AGroupHasItsLimits) {
  const FakeCgroups groups;
  ASSERT_TRUE(Cgroup::prepare(groups.path()).has_value());
  EXPECT_EQ(groups.text_of("cgroup.subtree_control"), "+cpu +memory +pids");
  const test::TempFolder folder;
  Server server(folder / "tasks");
  LaunchOrder order = shell("echo $$; sleep 1000");
  order.cgroup = CgroupOrder{
      .root = groups.path(), .memory_bytes = 1 << 30, .cpu_milli = 2500, .processes = 77};
  ASSERT_TRUE(server->start(attempt(1), order));
  ASSERT_TRUE(server.is_running(attempt(1)));
  EXPECT_EQ(groups.text_of("1.0.1/memory.max"), "1073741824");
  EXPECT_EQ(groups.text_of("1.0.1/cpu.max"), "250000 100000");
  EXPECT_EQ(groups.text_of("1.0.1/pids.max"), "77");
  ASSERT_TRUE(server.until([&] { return !server.output_of(attempt(1)).empty(); }));
  EXPECT_EQ(groups.text_of("1.0.1/cgroup.procs") + "\n", server.output_of(attempt(1)));
}

TEST(RightsTest, AGroupKnowsWhetherMemoryWasShort) {
  FakeCgroups groups;
  const test::TempFolder folder;
  Server server(folder / "tasks");
  LaunchOrder order = shell("read x < " + folder / "go" + "; kill -KILL $$");
  ASSERT_EQ(::mkfifo((folder / "go").c_str(), 0600), 0);
  order.cgroup = CgroupOrder{.root = groups.path()};
  for (const bool is_short : {false, true}) {
    const AttemptId id = attempt(is_short ? 2 : 1);
    ASSERT_TRUE(server->start(id, order));
    ASSERT_TRUE(server.is_running(id));
    groups.say(to_string(id) + "/memory.events",
               std::string("oom 3\noom_kill ") + (is_short ? "1\n" : "0\n"));
    std::ofstream(folder / "go") << "x\n";
    EXPECT_EQ(server.end_of(id).cause, is_short ? EndCause::out_of_memory : EndCause::ended);
  }
}

TEST(RightsTest, AGroupThatCannotBeIsARefusal) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  LaunchOrder order = shell("echo ran");
  order.cgroup = CgroupOrder{.root = folder / "none"};
  EXPECT_EQ(server.run(attempt(1), order).cause, EndCause::refused);
  // One in which nobody can be put.
  std::filesystem::create_directories(folder / "groups/2.0.1/cgroup.procs");
  order.cgroup->root = folder / "groups";
  const TaskEnd end = server.run(attempt(2), order);
  EXPECT_EQ(end.cause, EndCause::refused);
  EXPECT_NE(end.reason.find("2.0.1/cgroup.procs: cannot open it"), std::string::npos) << end.reason;
  EXPECT_EQ(server.output_of(attempt(2)), "");
  EXPECT_FALSE(Cgroup::prepare(folder / "groups").has_value());
}

// --- Landlock -----------------------------------------------------------------------------------

/// Runs as nobody; returns its exit code.
int as_nobody(const std::function<int()>& run) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const bool dropped = ::setgroups(0, nullptr) == 0 && ::setgid(nobody.gid) == 0 &&
                         ::setuid(nobody.uid) == 0 && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    ::_exit(dropped ? run() : 100);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(RightsTest, WhatIsBarredCannotBeOpened) {
  if (::geteuid() != 0) GTEST_SKIP() << no_root;
  std::string name = "/run/tutti-XXXXXX";  // Nobody can make files there.
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  ASSERT_EQ(::chmod(name.c_str(), 0755), 0);
  const std::string data = name + "/data";
  std::filesystem::create_directory(data);
  std::ofstream(data + "/token") << "secret";
  std::ofstream(name + "/beside") << "open";
  ASSERT_EQ(::chown(data.c_str(), nobody.uid, nobody.gid), 0);
  ASSERT_EQ(::chown((data + "/token").c_str(), nobody.uid, nobody.gid), 0);
  const int code = as_nobody([&] {
    if (!Shield::missing(data).empty()) return 101;
    const Result<Shield> shield = Shield::make(data);
    if (!shield || bytes_of(data + "/token") != "secret") return 1;
    if (!shield->raise()) return 2;
    if (!bytes_of(data + "/token").empty() || std::ofstream(data + "/new").is_open()) return 3;
    if (bytes_of(name + "/beside") != "open" || bytes_of("/proc/self/comm").empty()) return 4;
    test::TempFolder elsewhere;
    std::ofstream(elsewhere / "file") << "x";
    if (bytes_of(elsewhere / "file") != "x") return 5;
    std::filesystem::rename(elsewhere / "file", elsewhere / "other");
    if (::kill(::getppid(), 0) == 0 || errno != EPERM) return 6;
    if (std::system("ls / > /dev/null") != 0) return 7;
    return 0;
  });
  std::filesystem::remove_all(name);
  if (code == 101) GTEST_SKIP() << "missing: a kernel with Landlock";
  EXPECT_EQ(code, 0);
}

TEST(RightsTest, WhatCannotBeBarredIsSaid) {
  if (::geteuid() != 0) GTEST_SKIP() << no_root;
  const test::TempFolder folder;
  std::filesystem::create_directory(folder / "data");
  const int code = as_nobody([&] {
    const std::string missing = Shield::missing(folder / "data");
    if (missing.starts_with("this kernel has no")) return 101;
    if (missing.find("new files in " + folder.path().substr(0, 8)) == std::string::npos) return 1;
    const Result<Shield> shield = Shield::make(folder / "data");
    if (!shield || !shield->raise()) return 2;
    std::ofstream(folder / "new") << "x";
    return bytes_of(folder / "new") == "x" ? 0 : 3;
  });
  if (code == 101) GTEST_SKIP() << "missing: a kernel with Landlock";
  EXPECT_EQ(code, 0);
}

TEST(RightsTest, ATaskIsBarredFromWhatItsOrderSays) {
  if (::geteuid() != 0) GTEST_SKIP() << no_root;
  std::string name = "/run/tutti-XXXXXX";
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  ASSERT_EQ(::chmod(name.c_str(), 0755), 0);
  std::ofstream(name + "/token") << "secret\n";
  {
    const test::TempFolder folder;
    Server server(folder / "tasks");
    LaunchOrder order = shell("cat " + name + "/token");
    order.user = nobody;
    server.run(attempt(1), order);
    EXPECT_EQ(server.output_of(attempt(1)), "secret\n");
    const std::string missing = Shield::missing(name);
    order.barred = name;
    const TaskEnd end = server.run(attempt(2), order);
    if (!missing.starts_with("this kernel has no")) {
      EXPECT_EQ(server.output_of(attempt(2)), "cat: " + name + "/token: Permission denied\n");
      EXPECT_EQ(end.exit_code, 1);
    }
  }
  std::filesystem::remove_all(name);
}

}  // namespace tutti::rights_test
