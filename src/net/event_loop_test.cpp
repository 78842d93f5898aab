#include "net/event_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "net/test_net.h"

namespace tutti::net::event_loop_test {

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reading = Descriptor(ends[0]);
    writing = Descriptor(ends[1]);
  }
  Descriptor reading;
  Descriptor writing;
};

TEST(EventLoopTest, PostedTasksRunInOrderAndNotAtOnce) {
  EventLoop loop;
  std::string order;
  loop.post([&] {
    order += "a";
    loop.post([&] {
      order += "c";
      loop.stop();
    });
    order += "b";
  });
  EXPECT_EQ(order, "");
  loop.run();
  EXPECT_EQ(order, "abc");
}

TEST(EventLoopTest, TasksOfManyThreadsAllRunOnItsThread) {
  test::LoopThread thread;
  int count = 0;
  const std::thread::id there = thread.call([] { return std::this_thread::get_id(); });
  EXPECT_FALSE(thread.loop.here());
  std::vector<std::thread> others;
  for (int other = 0; other < 4; ++other) {
    others.emplace_back([&] {
      for (int n = 0; n < 1'000; ++n) {
        thread.loop.post([&] { count += std::this_thread::get_id() == there ? 1 : 1'000'000; });
      }
    });
  }
  for (std::thread& other : others) other.join();
  EXPECT_EQ(thread.call([&] { return count; }), 4'000);
}

TEST(EventLoopTest, ATimerComesOnceAndNotWhenDropped) {
  EventLoop loop;
  int came = 0;
  {
    const Timer dropped = loop.after(Duration::milliseconds(1), [&] { came += 100; });
    EXPECT_TRUE(dropped.waiting());
  }
  const Timer kept = loop.after(Duration::milliseconds(2), [&] { ++came; });
  const Timer end = loop.after(Duration::milliseconds(20), [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(came, 1);
  EXPECT_FALSE(kept.waiting());
}

TEST(EventLoopTest, ATimerMayReplaceItselfInItsCallback) {
  EventLoop loop;
  Timer timer;
  int came = 0;
  std::function<void()> again = [&] {
    if (++came == 3) return loop.stop();
    timer = loop.after(Duration{}, again);
  };
  timer = loop.after(Duration{}, again);
  loop.run();
  EXPECT_EQ(came, 3);
}

TEST(EventLoopTest, AWatchCallsAsLongAsThereIsSomethingToRead) {
  EventLoop loop;
  const Pipe pipe;
  std::string got;
  auto watch = loop.watch(pipe.reading.get(), [&] {
    char byte = 0;
    ASSERT_EQ(::read(pipe.reading.get(), &byte, 1), 1);
    got += byte;
    if (got.size() == 3) loop.stop();
  });
  ASSERT_TRUE(watch.has_value());
  ASSERT_EQ(::write(pipe.writing.get(), "abc", 3), 3);
  watch->want(/*readable=*/true, /*writable=*/false);
  loop.run();
  EXPECT_EQ(got, "abc");
}

TEST(EventLoopTest, AWatchLeavesTheFlagsOfItsDescriptorAlone) {
  EventLoop loop;
  const Pipe pipe;
  const int before = ::fcntl(pipe.writing.get(), F_GETFL);
  auto watch = loop.watch(pipe.writing.get(), [&] { loop.stop(); });
  ASSERT_TRUE(watch.has_value());
  watch->want(/*readable=*/false, /*writable=*/true);
  loop.run();
  EXPECT_EQ(::fcntl(pipe.writing.get(), F_GETFL), before);
}

TEST(EventLoopTest, AWatchThatWantsNothingOrIsDroppedIsSilent) {
  EventLoop loop;
  const Pipe pipe;
  ASSERT_EQ(::write(pipe.writing.get(), "abc", 3), 3);
  int came = 0;
  std::optional<Watch> watch = loop.watch(pipe.reading.get(),
                                          [&] {
                                            ++came;
                                            watch.reset();  // In its own callback.
                                          })
                                   .value();
  const Timer later = loop.after(Duration::milliseconds(5), [&] {
    EXPECT_EQ(came, 0);
    watch->want(/*readable=*/true, /*writable=*/false);
  });
  const Timer end = loop.after(Duration::milliseconds(20), [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(came, 1);
}

TEST(EventLoopTest, ProcessesSignalsAndOtherLoopsCanBeWatched) {
  EventLoop loop;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  const Descriptor signals(::signalfd(-1, &set, SFD_CLOEXEC));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(7);
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  const Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  const Pipe pipe;
  epoll_event event{.events = EPOLLIN, .data = {}};
  ASSERT_EQ(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, pipe.reading.get(), &event), 0);
  std::vector<Watch> watches(3);
  const int descriptors[] = {signals.get(), process.get(), epoll.get()};
  std::size_t came = 0;
  for (std::size_t at = 0; at < watches.size(); ++at) {
    auto watch = loop.watch(descriptors[at], [&, at] {
      watches[at].want(/*readable=*/false, /*writable=*/false);
      if (++came == watches.size()) loop.stop();
    });
    ASSERT_TRUE(watch.has_value()) << watch.error().text();
    watches[at] = *std::move(watch);
    watches[at].want(/*readable=*/true, /*writable=*/false);
  }
  ASSERT_EQ(::write(pipe.writing.get(), "a", 1), 1);
  ::pthread_kill(::pthread_self(), SIGUSR2);
  loop.run();
  EXPECT_EQ(came, 3);
  signalfd_siginfo got{};
  EXPECT_EQ(::read(signals.get(), &got, sizeof got), static_cast<ssize_t>(sizeof got));
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

TEST(EventLoopTest, WhatCannotBeWatchedIsAnError) {
  EventLoop loop;
  const test::Folder folder;
  const Descriptor file(::open((folder / "file").c_str(), O_CREAT | O_RDWR, 0600));
  const auto watch = loop.watch(file.get(), [] {});
  ASSERT_FALSE(watch.has_value());
  EXPECT_EQ(watch.error().code, Code::io);
}

EventLoop*& to_stop() {
  static EventLoop* loop = nullptr;
  return loop;
}

TEST(EventLoopTest, ASignalMayStopIt) {
  EventLoop loop;
  to_stop() = &loop;
  const auto before = std::signal(SIGUSR1, [](int) { to_stop()->stop(); });
  const Timer soon = loop.after(Duration::milliseconds(1), [] { ::raise(SIGUSR1); });
  loop.run();
  // A stop before the next run ends that one, and only that one.
  ::raise(SIGUSR1);
  loop.run();
  const Timer end = loop.after(Duration::milliseconds(1), [&] { loop.stop(); });
  loop.run();
  EXPECT_FALSE(end.waiting());
  std::signal(SIGUSR1, before);
}

TEST(EventLoopTest, NamesAreResolvedAndUnknownOnesAreErrors) {
  EventLoop loop;
  std::vector<IpAddress> found;
  loop.resolve("localhost", 7070, [&](Result<std::vector<IpAddress>> got) {
    EXPECT_TRUE(got.has_value()) << got.error().text();
    if (got) found = *std::move(got);
    loop.resolve("no-such-host.invalid", 1, [&](Result<std::vector<IpAddress>> none) {
      EXPECT_FALSE(none.has_value());
      EXPECT_EQ(none ? "" : none.error().where, "no-such-host.invalid");
      loop.stop();
    });
  });
  loop.run();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().port, 7070);
}

}  // namespace tutti::net::event_loop_test
