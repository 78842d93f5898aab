/// The loop with a target mix that is learned; plans are judged elsewhere.
#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "sched/test_fleet.h"

namespace tutti::engine_test {

using testing::ElementsAre;

class SilentBackend final : public Backend {
 public:
  void execute(const Action&, const State&) override {}
  std::vector<Observed> observe() override { return {}; }
};

/// Keeps everything, and fails when told to.
class TestJournal final : public Journal {
 public:
  std::vector<std::pair<Event, Instant>> entries;
  std::size_t fails_at = SIZE_MAX;  ///< Appends until one fails.

  Result<void> append(std::span<const Event> events, Instant at) override {
    if (fails_at-- == 0) return fail(Code::io, "the disk is full");
    for (const Event& event : events) entries.emplace_back(event, at);
    return {};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [event, at] : entries) out.emplace_back(name_of(event));
    return out;
  }
};

PolicyRecipe recipe(std::string_view score, bool learned) {
  return {.name = "test", .scores = {{.name = std::string(score)}}, .learn_mix = learned};
}

/// An engine with everything that it needs, one second a step.
struct Running {
  explicit Running(const PolicyRecipe& recipe)
      : factory(recipe), engine(journal, backend, factory) {}

  Result<Engine::Step> step(const std::vector<Event>& inbox) {
    now = now + Duration::seconds(1);
    return engine.step(inbox, now);
  }
  Event submission(const TaskShape& shape) {
    return JobSubmitted{JobId(next_job++), test::job(shape)};
  }

  TestJournal journal;
  SilentBackend backend;
  RecipeFactory factory;
  Engine engine;
  Instant now;
  std::uint64_t next_job = 0;
};

const MixSet given{{{test::task(1000, 1), 3}}};

TEST(EngineTest, AGivenMixStays) {
  Running run(recipe("usable", false));
  ASSERT_TRUE(run.step({NodeReported{test::node("n0")}, given}).has_value());
  ASSERT_TRUE(run.step({run.submission(test::task(2000, 2))}).has_value());
  EXPECT_THAT(run.journal.names(),
              ElementsAre("node_reported", "mix_set", "job_submitted", "plan_decided"));
  EXPECT_FALSE(run.engine.state().mix_learned());
}

TEST(EngineTest, ALearnedMixIsJournaledBeforeThePlanThatItShapes) {
  Running run(recipe("usable", true));
  ASSERT_TRUE(run.step({NodeReported{test::node("n0")}, given}).has_value());
  EXPECT_TRUE(run.engine.state().mix().empty()) << "the given mix is replaced";
  ASSERT_TRUE(run.step({run.submission(test::task(2000, 2))}).has_value());
  EXPECT_THAT(run.journal.names(), ElementsAre("node_reported", "mix_set", "mix_set",
                                               "job_submitted", "mix_set", "plan_decided"));
  ASSERT_EQ(run.engine.state().mix().size(), 1U);
  EXPECT_EQ(run.engine.state().shape(run.engine.state().mix()[0].shape).spec, test::task(2000, 2));
}

TEST(EngineTest, AJournalThatFailsLeavesTheMixAsItWas) {
  Running run(recipe("usable", true));
  ASSERT_TRUE(run.step({NodeReported{test::node("n0")}}).has_value());
  run.journal.fails_at = 1;  // The inbox is kept, the mix is not.
  EXPECT_FALSE(run.step({run.submission(test::task(2000, 2))}).has_value());
  EXPECT_TRUE(run.engine.state().mix().empty());
  run.journal.fails_at = SIZE_MAX;
  const auto step = run.step({run.submission(test::task(2000, 2))});
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->plan.actions.size(), 2U) << "the first job was submitted all the same";
  ASSERT_EQ(run.engine.state().mix().size(), 1U);
  EXPECT_EQ(run.engine.state().mix()[0].count, 2U);
}

TEST(EngineTest, RarePathsStayCountedWhenTheWorkspaceIsForgotten) {
  Running run(recipe("pack", false));
  ASSERT_TRUE(run.step({NodeReported{test::node("n0")}}).has_value());
  ASSERT_TRUE(run.step({QueueSet{{.name = "small", .limit = {{"gpu", 1}}}}}).has_value());
  for (std::uint64_t times = 1; times <= 3; ++times) {
    const Event two = JobSubmitted{JobId(times), test::job(test::task(1000, 2), 1, 1, "small")};
    ASSERT_TRUE(run.step({two}).has_value());
    EXPECT_EQ(run.engine.rare_paths().of(RarePath::limit_held_gang), times);
    run.engine.forget_workspace();
    EXPECT_EQ(run.engine.rare_paths().of(RarePath::limit_held_gang), times);
    ASSERT_TRUE(run.step({JobCancelled{JobId(times)}}).has_value());
  }
}

/// A random inbox: nodes first, then jobs that slowly turn from small to large ones, and ends.
std::vector<Event> random_inbox(Running& run, Prng& prng, unsigned step) {
  if (step < 8) return {NodeReported{test::node("n" + std::to_string(step), {.cpu = 32'000})}};
  std::vector<Event> inbox;
  for (unsigned at = 0; at <= prng.below(3); ++at) {
    const bool large = prng.below(200) < step;
    inbox.push_back(run.submission(large ? test::task(prng.between(1, 4) * 2000, 4)
                                         : test::task(1000, 1, 100 + prng.below(800))));
  }
  const State& state = run.engine.state();
  for (std::size_t at = 0; at < state.tasks().size(); ++at) {
    const Task& task = state.tasks()[TaskIndex(at)];
    if (!task.gang.valid() || !holds(task.phase) || !prng.chance(150)) continue;
    inbox.emplace_back(TaskExited{state.id_of(TaskIndex(at)), task.attempt, 0});
  }
  return inbox;
}

class LearningTest : public testing::TestWithParam<std::string_view> {};

// Nothing that is learned lives beside State.
TEST_P(LearningTest, ForgettingTheWorkspaceChangesNothingAndAReplayEndsInTheSameState) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Running kept(recipe(GetParam(), true));
    Running forgetful(recipe(GetParam(), true));
    Prng prng(seed);
    for (unsigned step = 0; step < 200; ++step) {
      const std::vector<Event> inbox = random_inbox(kept, prng, step);
      forgetful.engine.forget_workspace();
      const auto one = kept.step(inbox);
      const auto other = forgetful.step(inbox);
      ASSERT_TRUE(one.has_value() && other.has_value());
      ASSERT_TRUE(one->refused.empty());
      ASSERT_EQ(one->plan.actions, other->plan.actions) << "seed " << seed << ", step " << step;
    }
    EXPECT_EQ(kept.engine.state().hash(), forgetful.engine.state().hash());
    State replayed;
    std::size_t mixes = 0;
    for (const auto& [event, at] : kept.journal.entries) {
      ASSERT_TRUE(replayed.admissible(event).has_value());
      replayed.apply(event, at);
      mixes += std::holds_alternative<MixSet>(event) ? 1 : 0;
    }
    EXPECT_EQ(replayed.hash(), kept.engine.state().hash());
    EXPECT_GT(mixes, 10U) << "the mix changes all the time";
    EXPECT_LT(mixes, 60U) << "but not with every arrival";
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, LearningTest, testing::Values("usable", "fgd"));

}  // namespace tutti::engine_test
