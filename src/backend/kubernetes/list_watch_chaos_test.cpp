#include <gtest/gtest.h>

#include <array>

#include "backend/kubernetes/test_api_server.h"
#include "backend/kubernetes/test_view.h"

namespace tutti::list_watch_chaos_test {

using test::SimApiServer;
using test::SimWire;
using test::View;
using test::VirtualTime;

/// A server at its worst for more than a minute, then well again. Returns how often a version was
/// too old.
int survive(std::uint64_t seed) {
  VirtualTime time;
  SimWire wire(time);
  SimApiServer server(time, wire, seed);
  Prng prng(seed, 9);
  constexpr std::array<std::uint32_t, 4> swarm{0, 20, 100, 400};
  const auto draw = [&] { return swarm[prng.below(swarm.size())]; };
  server.streams_lists = prng.chance(500);
  server.history_max = 3 + prng.below(40);
  server.bookmark_every = Duration::seconds(prng.between(5, 60));
  server.faults = {.lost = draw(),
                   .refused = draw(),
                   .slow = draw(),
                   .cut = draw() / 2,
                   .stuck = draw() / 8,
                   .twice = draw(),
                   .forgotten = draw(),
                   .error = draw() / 2};
  ApiClient api(wire, Credentials({.user = {.token = {.text = "t"}}}, {}), {.seed = seed});
  View view;
  const ListWatch watch(api, {.path = "/p", .page = 1 + prng.below(20), .seed = seed},
                        view.reports());
  const auto churn = [&](int steps) {
    for (int step = 0; step < steps; ++step) {
      const std::string name = "n" + std::to_string(prng.below(40));
      if (prng.chance(300)) {
        server.remove(name);
      } else {
        server.set(name, std::to_string(step));
      }
      time.run_for({prng.between(0, 1'000'000)});
    }
  };
  churn(150);
  EXPECT_LT(server.lists, 40) << "in a minute of nothing but trouble";
  server.faults = {};
  server.history_max = 1000;
  const int lists = server.lists;
  churn(30);
  time.run_for(Duration::seconds(300));
  EXPECT_EQ(view.objects, server.objects());
  EXPECT_LE(server.lists - lists, 3)
      << "once it is well, it is asked for everything at most thrice";
  EXPECT_GT(view.objects.size(), 5U);
  return server.expired;
}

TEST(ListWatchChaosTest, AfterHealingTheViewIsTheServers) {
  int expired = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    expired += survive(seed);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(expired, 200) << "or the test would show little";
}

}  // namespace tutti::list_watch_chaos_test
