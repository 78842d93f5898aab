#include "backend/local/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backend/local/test_tasks.h"

namespace tutti::host_test {

using testing::HasSubstr;

TEST(HostTest, OpenFilesGrowToTheHardLimitAndTheOldOneIsKnown) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit small{64, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &small), 0);
  const ProcessLimit was = raise_file_limit();
  EXPECT_EQ(was.name, "nofile");
  EXPECT_EQ(was.soft, 64);
  rlimit after{};
  ::getrlimit(RLIMIT_NOFILE, &after);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST(HostTest, TheServiceManagerIsTold) {
  const test::TempFolder folder;
  const std::string path = folder / "n";
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  notify_service("READY=1");
  ::unsetenv("NOTIFY_SOCKET");
  notify_service("nobody hears this");
  std::array<char, 64> got{};
  EXPECT_EQ(::recv(socket.get(), got.data(), got.size(), 0), 7);
  EXPECT_STREQ(got.data(), "READY=1");
}

TEST(HostTest, WhoListensAtAPortIsFound) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(socket.get(), where, sizeof address), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(socket.get(), where, &size), 0);
  const std::uint16_t port = ntohs(address.sin_port);
  EXPECT_EQ(listener_of(port), 0) << "it does not listen yet";
  ASSERT_EQ(::listen(socket.get(), 1), 0);
  EXPECT_EQ(listener_of(port), ::getpid());
}

class CgroupOfOursTest : public testing::Test {
 protected:
  CgroupOfOursTest() {
    std::filesystem::create_directories(folder_ / "proc/self");
    std::filesystem::create_directories(folder_ / "cg/a/b.service/server");
    say("proc/self/cgroup", "0::/a/b.service/server\n");
    say("cg/a/b.service/cgroup.controllers", "cpuset cpu io memory pids\n");
  }
  void say(const std::string& path, const std::string& text) {
    std::ofstream(folder_ / path) << text;
  }
  /// Where this folder was given to us.
  Result<std::string> take(const std::string& delegated = "cg/a/b.service") {
    return take_cgroup({.proc = folder_ / "proc",
                        .root = folder_ / "cg",
                        .is_delegated = [=, this](const std::string& each) {
                          return each == folder_ / delegated;
                        }});
  }
  test::TempFolder folder_;
};

TEST_F(CgroupOfOursTest, IsTheOneAroundOurs) {
  const auto group = take();
  ASSERT_TRUE(group.has_value()) << group.error().text();
  EXPECT_EQ(*group, folder_ / "cg/a/b.service");
  EXPECT_EQ(test::bytes_of(*group + "/cgroup.subtree_control"), "+cpu +memory +pids");
}

TEST_F(CgroupOfOursTest, IsLeftAloneWhereItWasNotGivenToUsOrWeAreInItOurselves) {
  EXPECT_THAT(take("cg/a").error().what, HasSubstr("no control group was given"));
  const auto unmarked =
      take_cgroup({.proc = folder_ / "proc", .root = folder_ / "cg", .is_delegated = {}});
  EXPECT_THAT(unmarked.error().what, HasSubstr("no control group was given"));
  EXPECT_THAT(take("cg/a/b.service/server").error().hint, HasSubstr("DelegateSubgroup"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "cg/a/b.service/cgroup.subtree_control"));
  say("cg/a/b.service/cgroup.controllers", "cpu pids\n");
  EXPECT_THAT(take().error().what, HasSubstr("no controller of memory"));
  say("proc/self/cgroup", "4:memory:/old\n");
  EXPECT_THAT(take().error().what, HasSubstr("version 2"));
}

}  // namespace tutti::host_test
