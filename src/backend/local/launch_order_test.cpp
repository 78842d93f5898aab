#include "backend/local/launch_order.h"

#include "backend/local/test_tasks.h"
#include "format/json.h"
#include "format/reader.h"

namespace tutti::launch_order_test {

using test::shell;
using test::TempFolder;

std::string complaint(const LaunchOrder& order) {
  Result<void> done = check_values(order);
  if (done) done = check_files(order);
  return done ? "" : done.error().text();
}

TEST(LaunchOrderTest, TextHoldsAllOfIt) {
  LaunchOrder order = shell("echo \"\x01\n\xc3\xa4\"");
  order.directory = "/tmp";
  order.output = {.output = "/tmp/o", .errors = "/tmp/e", .bytes_max = 12345};
  order.stop = {.checkpoint_signal = 10,
                .checkpoint_grace = Duration::seconds(1),
                .term_grace = Duration::seconds(2)};
  order.time_max = Duration::seconds(3);
  order.linger = Duration::seconds(4);
  order.user = TaskUser{.uid = 4294967294, .gid = 7, .groups = {8, 9}};
  order.umask = 077;
  order.limits = {{"nofile", 10, 20}, {"core", -1, -1}};
  order.nice = -3;
  order.cpus = {0, 5};
  order.hosts = "localhost slots=2\n";
  order.ports = PortRow{.gang = 4'000'000'000, .first = 20'000, .count = 2};
  order.terminal = TerminalOrder{.rows = 1, .columns = 2, .pipes = true};
  order.cgroup = CgroupOrder{.root = "/r", .memory_bytes = 1, .cpu_milli = 2, .processes = 3};
  order.barred = "/secret";
  for (const LaunchOrder& each : {order, shell("true")}) {
    const Result<Value> document = parse_json(encode(each));
    ASSERT_TRUE(document.has_value());
    const Result<LaunchOrder> again = decode(*document, "order", decode_launch_order);
    ASSERT_TRUE(again.has_value()) << again.error().text();
    EXPECT_EQ(*again, each);
  }
}

TEST(LaunchOrderTest, AJobSaysWhatItRunsAndHowItIsStopped) {
  LaunchSpec spec{.command = {"train", "x"}, .directory = "/d", .output = "/o"};
  const LaunchOrder plain = order_of(spec);
  EXPECT_EQ(plain.arguments, spec.command);
  EXPECT_EQ(plain.directory, "/d");
  EXPECT_EQ(plain.output.output, "/o");
  EXPECT_EQ(plain.stop.checkpoint_signal, 0);
  EXPECT_EQ(plain.stop.term_grace, spec.grace);
  spec.directory.clear();
  spec.stop_signal = "USR2";
  spec.grace = Duration::seconds(77);
  const LaunchOrder saves = order_of(spec);
  EXPECT_EQ(saves.directory, "/");
  EXPECT_EQ(saves.stop.checkpoint_signal, SIGUSR2);
  EXPECT_EQ(saves.stop.checkpoint_grace, Duration::seconds(77));
  EXPECT_EQ(saves.stop.term_grace, StopSteps{}.term_grace);
}

TEST(LaunchOrderTest, ProgramsAreFound) {
  const TempFolder folder;
  LaunchOrder order = shell("true");
  EXPECT_EQ(complaint(order), "");
  EXPECT_EQ(program_of(order).value(), "/bin/sh");
  std::filesystem::create_directory(folder / "bin");
  std::filesystem::create_directory(folder / "bin/sh");  // Not a program: the next one counts.
  std::ofstream(folder / "bin/mine") << "#!/bin/sh\n";
  order.environment = {"HOME=/", "PATH=:" + folder / "bin" + ":/bin"};
  order.arguments = {"sh"};
  EXPECT_EQ(program_of(order).value(), "/bin/sh");
  order.arguments = {"mine"};
  EXPECT_EQ(complaint(order),
            "error: arguments[0]: no program \"mine\" in PATH\nhint:  PATH of the task is :" +
                folder / "bin" + ":/bin\n");
  order.arguments = {"bin/mine"};
  order.directory = folder.path();
  EXPECT_EQ(complaint(order), "error: " + folder / "bin/mine" +
                                  ": it may not be executed\nhint:  chmod +x " +
                                  folder / "bin/mine" + "\n");
  std::filesystem::permissions(folder / "bin/mine", std::filesystem::perms::all);
  EXPECT_EQ(program_of(order).value(), folder / "bin/mine");
  order.environment.clear();
  order.arguments = {"true"};
  EXPECT_EQ(complaint(order), "");
}

TEST(LaunchOrderTest, WhatIsWrongIsSaid) {
  const auto with = [](auto change) {
    LaunchOrder order = shell("true");
    change(order);
    return complaint(order);
  };
  using Order = LaunchOrder&;
  EXPECT_EQ(with([](Order o) { o.arguments.clear(); }), "error: arguments: there is no command\n");
  EXPECT_EQ(with([](Order o) { o.arguments[2] = std::string("a\0b", 3); }),
            "error: arguments[2]: it has a NUL in it\n");
  EXPECT_EQ(with([](Order o) { o.arguments[2] = "\xff"; }),
            "error: arguments[2]: it is not UTF-8: \"\\xff\"\n"
            "hint:  give it another way, for instance in a file\n");
  EXPECT_EQ(with([](Order o) { o.environment = {"A=b=c", "password"}; }),
            "error: environment: not NAME=value: \"password\"\n");
  EXPECT_EQ(with([](Order o) { o.environment = {"=secret"}; }),
            "error: environment: not NAME=value: \"\"\n");
  EXPECT_EQ(with([](Order o) { o.directory = "here"; }),
            "error: directory: not an absolute path: \"here\"\n");
  EXPECT_EQ(with([](Order o) { o.directory = "/bin/sh"; }),
            "error: directory: not a folder: /bin/sh\n");
  EXPECT_EQ(with([](Order o) { o.output.output = "/no/where/out"; }),
            "error: output:/no/where: cannot use it: No such file or directory\n");
  EXPECT_EQ(with([](Order o) { o.output.errors = "/tmp/"; }),
            "error: errors: not the absolute path of a file: \"/tmp/\"\n");
  EXPECT_EQ(with([](Order o) { o.limits = {{"nofiles", 1, 1}}; }),
            "error: limits: there is no limit \"nofiles\"\nhint:  did you mean \"nofile\"?\n");
  EXPECT_EQ(with([](Order o) { o.limits = {{"nofile", -1, 1}}; }),
            "error: limits.nofile: its soft limit is above its hard one\n");
  EXPECT_EQ(with([](Order o) { o.cpus = {5000}; }), "error: cpus: there is no cpu 5000\n");
  EXPECT_EQ(with([](Order o) { o.stop.checkpoint_signal = 99; }),
            "error: stop.checkpoint_signal: there is no signal 99\n");
}

}  // namespace tutti::launch_order_test
