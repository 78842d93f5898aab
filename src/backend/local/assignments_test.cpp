#include "backend/local/assignments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <set>

namespace tutti::assignments_test {

using testing::ElementsAre;
using testing::IsEmpty;

AttemptId attempt(std::uint64_t job, std::uint32_t ordinal = 0, std::uint32_t number = 1) {
  return {.task = {JobId(job), ordinal}, .attempt = number};
}

class AssignmentsTest : public testing::Test {
 protected:
  Assignments make(const std::string& machine = "numa:2 l3:2 core:2 pu:2",
                   std::uint16_t ports = 8) {
    return Assignments({.cpus = find_cpus(machine).value(),
                        .first_port = 30'000,
                        .ports = ports,
                        .is_free = [this](std::uint16_t port) { return !busy_.contains(port); },
                        .is_over = [this](const AttemptId& id) { return over_.contains(id); }});
  }
  std::set<std::uint16_t> busy_;
  std::set<AttemptId> over_;
};

// Sixteen threads: 0-7 and 8-15 are NUMA nodes, each four threads share a cache, each two a core.
TEST_F(AssignmentsTest, ProcessorsAreNearEachOther) {
  Assignments machine = make();
  EXPECT_THAT(machine.take_cpus(attempt(1), 1, {}), ElementsAre(0));
  EXPECT_THAT(machine.take_cpus(attempt(2), 2, {}), ElementsAre(2, 3)) << "a whole core";
  EXPECT_THAT(machine.take_cpus(attempt(3), 1, {}), ElementsAre(1)) << "what is left of a core";
  EXPECT_THAT(machine.take_cpus(attempt(4), 4, {}), ElementsAre(4, 5, 6, 7)) << "one cache";
  EXPECT_THAT(machine.take_cpus(attempt(2), 2, {}), ElementsAre(2, 3)) << "asked again";
  over_.insert(attempt(2));
  EXPECT_THAT(machine.take_cpus(attempt(5), 2, {}), ElementsAre(2, 3));
  EXPECT_THAT(machine.take_cpus(attempt(6), 9, {}), IsEmpty()) << "eight are left";
  EXPECT_THAT(machine.take_cpus(attempt(7), 0, {}), IsEmpty());
}

TEST_F(AssignmentsTest, ProcessorsAreNearTheDevices) {
  Assignments machine = make();
  const std::vector<unsigned> second{1};
  EXPECT_THAT(machine.take_cpus(attempt(1), 2, second), ElementsAre(8, 9));
  EXPECT_THAT(machine.take_cpus(attempt(2), 7, second), ElementsAre(0, 10, 11, 12, 13, 14, 15))
      << "all that are near, and one more";
  EXPECT_THAT(make("core:2 pu:1").take_cpus(attempt(1), 1, second), ElementsAre(0));
}

TEST_F(AssignmentsTest, AGangHasOneRowOfPortsWhoeverAsksFirst) {
  Assignments machine = make();
  const auto first = machine.take_ports(attempt(1, 0), 0, 4);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(machine.take_ports(attempt(1, 3), 0, 4), first);
  const auto other = machine.take_ports(attempt(1, 4), 4, 4);
  ASSERT_TRUE(other.has_value());
  EXPECT_NE(other->first, first->first) << "another gang of the same job";
  EXPECT_FALSE(machine.take_ports(attempt(2), 0, 4).has_value()) << "all eight are given";
  over_ = {attempt(1, 0), attempt(1, 3)};
  EXPECT_EQ(machine.take_ports(attempt(2), 0, 4)->first, first->first);
}

TEST_F(AssignmentsTest, PortsThatSomebodyListensAtAreLeftOut) {
  Assignments machine = make();
  busy_ = {30'001, 30'006};
  const auto row = machine.take_ports(attempt(1), 0, 2);
  ASSERT_TRUE(row.has_value());
  EXPECT_TRUE(row->first == 30'002 || row->first == 30'004) << row->first;
  EXPECT_FALSE(machine.take_ports(attempt(2), 0, 9).has_value());
}

TEST_F(AssignmentsTest, ALaterServerKnowsWhatIsHeld) {
  LaunchOrder order;
  order.cpus = {0, 1, 2, 3};
  order.ports = PortRow{.gang = 0, .first = 30'000, .count = 4};
  Assignments machine = make();
  machine.keep(attempt(1), order);
  EXPECT_THAT(machine.take_cpus(attempt(2), 4, {}), ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(machine.take_ports(attempt(1, 1), 0, 4), order.ports);
  EXPECT_EQ(machine.take_ports(attempt(2), 0, 4)->first, 30'004);
}

TEST_F(AssignmentsTest, APortIsFreeWhereNobodyListens) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(socket.get(), where, sizeof address), 0);
  ASSERT_EQ(::listen(socket.get(), 1), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(socket.get(), where, &size), 0);
  EXPECT_FALSE(is_port_free(ntohs(address.sin_port)));
}

}  // namespace tutti::assignments_test
