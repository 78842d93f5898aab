#include "sched/tally.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"
#include "sched/policy.h"

namespace tutti::tally_test {

class Nobody final : public Filter {
 public:
  std::string_view name() const override { return "nobody"; }
  Depends depends_on() const override { return Depends::everything; }
  bool concerns(const TaskClass&) const override { return true; }
  Reject check(const TaskClass&, const View&, NodeIndex) const override { return {}; }
};

/// Nodes by domain: 0 0 1 1 2 - (the last one is in none).
std::shared_ptr<const Domains> three_domains() {
  Domains domains{.level = "rack", .names = {"a", "b", "c"}, .members = {}, .of_node = {}};
  for (const unsigned domain : {0U, 0U, 1U, 1U, 2U}) domains.of_node.emplace_back(domain);
  domains.of_node.push_back(DomainIndex::none());
  return std::make_shared<const Domains>(domains);
}

TEST(TallyTest, CountsByDomainAndIgnoresNodesOutside) {
  const Nobody owner;
  Tally tally(owner, {.number = 3, .level = "rack"});
  tally.reset(three_domains(), {});
  EXPECT_EQ(tally.domains(), 3U);
  EXPECT_EQ(tally.least(), 0U);
  tally.add(NodeIndex(0), 2);
  tally.add(NodeIndex(1), 1);
  tally.add(NodeIndex(5), 9);
  EXPECT_EQ(tally.at(NodeIndex(1)), 3U);
  EXPECT_EQ(tally.at(NodeIndex(2)), 0U);
  EXPECT_EQ(tally.at(NodeIndex(5)), 0U);
  EXPECT_FALSE(tally.in_domain(NodeIndex(5)));
  EXPECT_EQ(tally.total(), 3U);
  EXPECT_EQ(tally.least(), 0U);
}

TEST(TallyTest, NodesThatDoNotCountMakeNoDomain) {
  const Nobody owner;
  Tally tally(owner, {.number = 0, .level = "rack"});
  tally.reset(three_domains(), {1, 0, 0, 0, 1, 1});
  EXPECT_EQ(tally.domains(), 2U);
  tally.add(NodeIndex(1), 4);  // In a domain that counts, but not on a node that does.
  tally.add(NodeIndex(2), 4);
  EXPECT_EQ(tally.total(), 0U);
  tally.add(NodeIndex(0), 1);
  tally.add(NodeIndex(4), 2);
  EXPECT_EQ(tally.least(), 1U);
}

TEST(TallyTest, WithoutDomainsTheLeastIsNothing) {
  const Nobody owner;
  Tally tally(owner, {.number = 0, .level = "rack"});
  tally.reset(three_domains(), {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(tally.domains(), 0U);
  EXPECT_EQ(tally.least(), 0U);
}

TEST(TallyTest, TheLeastFollowsEveryChange) {
  const Nobody owner;
  Tally tally(owner, {.number = 0, .level = "rack"});
  tally.reset(three_domains(), {});
  std::vector<std::int64_t> on(5);
  Prng prng(3);
  for (int step = 0; step < 2000; ++step) {
    const std::size_t node = prng.below(5);
    const bool leaves = on[node] > 0 && prng.chance(500);
    const std::int64_t tasks = leaves ? -prng.between(1, on[node]) : prng.between(1, 3);
    on[node] += tasks;
    tally.add(NodeIndex(node), tasks);
    EXPECT_EQ(tally.least(), std::min({on[0] + on[1], on[2] + on[3], on[4]}));
    EXPECT_EQ(tally.total(), static_cast<std::uint64_t>(on[0] + on[1] + on[2] + on[3] + on[4]));
  }
}

}  // namespace tutti::tally_test
