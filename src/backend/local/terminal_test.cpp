/// Tasks at a terminal, and those who look at it.
#include "backend/local/terminal.h"

#include <algorithm>

#include "backend/local/test_tasks.h"

namespace tutti::terminal_test {

using test::attempt;
using test::Server;
using test::shell;

/// Somebody at the terminal of attempt 1.
class Viewer {
 public:
  explicit Viewer(Server& server) : server_(server) {
    EXPECT_TRUE(server.is_running(attempt(1)));
    Result<TerminalView> view = server->view(attempt(1));
    EXPECT_TRUE(view.has_value()) << view.error().text();
    if (view) view_.emplace(*std::move(view));
  }

  TerminalView& operator*() { return *view_; }
  void type(std::string_view text) { EXPECT_EQ(view_->input(text), text.size()); }
  /// Waits until the text was shown.
  bool sees(const std::string& text) {
    return server_.until([&] {
      take();
      return seen_.find(text) != std::string::npos;
    });
  }
  /// Waits until the terminal is gone; returns all that was shown.
  std::string all() {
    EXPECT_TRUE(server_.until([&] {
      take();
      return ended_;
    })) << seen_;
    return seen_;
  }

 private:
  void take() {
    while (!ended_) {
      const std::optional<std::string> more = view_->output();
      ended_ = !more;
      if (!more || more->empty()) return;
      seen_ += *more;
    }
  }

  Server& server_;
  std::optional<TerminalView> view_;
  std::string seen_;
  bool ended_ = false;
};

LaunchOrder at_terminal(const std::string& script) {
  LaunchOrder order = shell(script);
  order.terminal = TerminalOrder{.rows = 33, .columns = 77};
  return order;
}

TEST(TerminalTest, WhatIsTypedIsReadAndWhatIsWrittenIsShown) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(
      attempt(1),
      at_terminal("tty -s && stty size; echo name; read name; echo hello $name; exit 3")));
  Viewer viewer(server);
  ASSERT_TRUE(viewer.sees("33 77\r\nname\r\n")) << "also what was shown before anybody looked";
  viewer.type("tutti\n");
  const std::string all = viewer.all();
  EXPECT_NE(all.find("hello tutti\r\n"), std::string::npos) << all;
  EXPECT_EQ(server.end_of(attempt(1)).exit_code, 3);
  EXPECT_EQ(server.output_of(attempt(1)), all) << "it is kept as well";
}

TEST(TerminalTest, KeysAreSignalsAndSizesChange) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(attempt(1), at_terminal("trap 'stty size' WINCH; trap 'exit 9' INT; "
                                                    "echo up; while :; do sleep 0.01; done")));
  Viewer viewer(server);
  ASSERT_TRUE(viewer.sees("up"));
  (*viewer).resize({.rows = 10, .columns = 20});
  ASSERT_TRUE(viewer.sees("10 20"));
  viewer.type("\x03");
  EXPECT_EQ(server.end_of(attempt(1)).exit_code, 9);
}

TEST(TerminalTest, ATaskGoesOnWithoutViewersAndTheLastOneCounts) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(attempt(1), at_terminal("cat")));
  {
    Viewer first(server);
    first.type("one\n");
    ASSERT_TRUE(first.sees("one\r\none\r\n"));
    Viewer second(server);
    ASSERT_TRUE(second.sees("one\r\none\r\n"));
    first.all();
  }
  Viewer third(server);
  third.type("two\n\x04");
  EXPECT_EQ(third.all(), "one\r\none\r\ntwo\r\ntwo\r\n");
  EXPECT_EQ(server.end_of(attempt(1)).exit_code, 0);
}

TEST(TerminalTest, AViewerWhoDoesNotLookIsWaitedForOnlyShortly) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(attempt(1), at_terminal("read go; seq 1 300000; echo done")));
  Viewer viewer(server);
  viewer.type("go\n");
  EXPECT_EQ(server.end_of(attempt(1)).exit_code, 0);
  EXPECT_TRUE(server.output_of(attempt(1)).ends_with("300000\r\ndone\r\n"));
}

TEST(TerminalTest, AllOfALongOutputIsShown) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(attempt(1), at_terminal("read go; seq 1 100000")));
  Viewer viewer(server);
  viewer.type("go\n");
  const std::string all = viewer.all();
  EXPECT_EQ(std::ranges::count(all, '\n'), 100'001);
  EXPECT_TRUE(all.ends_with("\n100000\r\n"));
}

LaunchOrder in_pipeline(const std::string& script) {
  LaunchOrder order = shell(script);
  order.terminal = TerminalOrder{.pipes = true};
  return order;
}

TEST(TerminalTest, OfPipesNothingIsLostBeforeSomebodyLooks) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(attempt(1), in_pipeline("tty -s || seq 1 100000; exit 4")));
  ASSERT_TRUE(server.is_running(attempt(1)));
  EXPECT_FALSE(server.until([&] { return server.heard(attempt(1)).size() > 1; }, 1))
      << "it waits when it has written much";
  Viewer viewer(server);
  const std::string all = viewer.all();
  EXPECT_EQ(std::ranges::count(all, '\n'), 100'000);
  EXPECT_TRUE(all.starts_with("1\n2\n"));
  EXPECT_EQ(server.end_of(attempt(1)).exit_code, 4);
}

TEST(TerminalTest, APipelineHasAnEndAndHearsSignals) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(attempt(1), in_pipeline("trap 'exit 9' INT; sort; echo sorted; "
                                                    "while :; do sleep 0.01; done")));
  Viewer viewer(server);
  viewer.type("b\na\n");
  (*viewer).end_input();
  ASSERT_TRUE(viewer.sees("a\nb\nsorted\n"));
  (*viewer).signal(SIGINT);
  EXPECT_EQ(server.end_of(attempt(1)).exit_code, 9);
}

TEST(TerminalTest, AShortTaskWaitsForTheFirstWhoLooks) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(attempt(1), at_terminal("echo short; exit 3")));
  ASSERT_TRUE(server.is_running(attempt(1)));
  EXPECT_FALSE(server.until([&] { return server.heard(attempt(1)).size() > 1; }, 1));
  Viewer viewer(server);
  EXPECT_EQ(viewer.all(), "short\r\n");
  EXPECT_EQ(server.end_of(attempt(1)).exit_code, 3);
  // Nobody comes to this one, but it is told to end; and that one has nothing to show.
  ASSERT_TRUE(server->start(attempt(2), at_terminal("echo short")));
  ASSERT_TRUE(server.is_running(attempt(2)));
  server->stop(attempt(2));
  server.end_of(attempt(2));
  EXPECT_EQ(server.run(attempt(3), at_terminal("exit 4")).exit_code, 4);
}

TEST(TerminalTest, WhoLooksAtAPipelineMayTakeHisTimeButNotOnceItIsStopped) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  ASSERT_TRUE(server->start(attempt(1), in_pipeline("seq 1 1000000")));
  const Viewer viewer(server);
  EXPECT_FALSE(server.until([&] { return server.heard(attempt(1)).size() > 1; }, 4));
  server->stop(attempt(1));
  EXPECT_EQ(server.end_of(attempt(1)).cause, EndCause::stopped);
}

TEST(TerminalTest, AShellAtATerminalCanBeStopped) {
  const test::TempFolder folder;
  Server server(folder / "tasks");
  LaunchOrder order = at_terminal("");
  order.arguments = {"/bin/sh", "-i"};
  order.stop.term_grace = Duration::seconds(60);
  ASSERT_TRUE(server->start(attempt(1), order));
  Viewer viewer(server);
  viewer.type("echo u''p\n");
  ASSERT_TRUE(viewer.sees("up"));
  server->stop(attempt(1));
  EXPECT_EQ(server.end_of(attempt(1)).cause, EndCause::stopped);
  EXPECT_FALSE(server->view(attempt(1)).has_value());
}

}  // namespace tutti::terminal_test
