#include "sim/witness.h"

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "policy/registry.h"
#include "sched/test_fleet.h"

namespace tutti::witness_test {

class SilentBackend final : public Backend {
 public:
  void execute(const Action&, const State&) override {}
  std::vector<Observed> observe() override { return {}; }
};

/// An engine on two nodes of two devices each, watched.
class WitnessTest : public testing::Test {
 protected:
  explicit WitnessTest(bool learns = false)
      : factory_(recipe(learns)), engine_(journal_, backend_, factory_) {
    for (const char* name : {"n0", "n1"}) tell(NodeReported{test::node(name, {.gpus = 2})});
  }

  static PolicyRecipe recipe(bool learns) {
    PolicyRecipe recipe = *builtin_policy("pack");
    recipe.learn_mix = learns;
    return recipe;
  }

  void tell(const Event& event) {
    now_ = now_ + Duration::seconds(1);
    witness_.before(engine_.state(), event);
    const auto step = engine_.step(std::span(&event, 1), now_);
    ASSERT_TRUE(step.has_value());
    ASSERT_TRUE(step->refused.empty()) << step->refused.front().why.text();
    witness_.after(engine_.state(), event, step->plan);
  }
  TaskId submit(std::shared_ptr<const JobSpec> spec) {
    const JobId id(next_job_++);
    tell(JobSubmitted{id, std::move(spec)});
    return {id, 0};
  }
  std::uint64_t seen(RarePath path) const { return witness_.seen().of(path); }
  /// Paths that were seen at all.
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> out;
    for (std::size_t at = 0; at < rare_path_names.size(); ++at) {
      if (witness_.seen().all()[at] > 0) out.push_back(rare_path_names[at]);
    }
    return out;
  }
  using Names = std::vector<std::string_view>;

  RecipeFactory factory_;
  NullJournal journal_;
  SilentBackend backend_;
  Engine engine_;
  Witness witness_;
  Instant now_;
  std::uint64_t next_job_ = 1;
};

TEST_F(WitnessTest, ALifeWithoutTroubleIsNotRare) {
  const TaskId task = submit(test::job(test::task(1000, 1)));
  tell(TaskStarted{task, 1});
  tell(DeviceHealthChanged{"n1", 0, Health::failed});
  tell(DeviceHealthChanged{"n1", 0, Health::online});
  tell(TaskExited{task, 1, 0});
  tell(JobCancelled{submit(test::job(test::task(1'000'000, 0))).job});
  EXPECT_EQ(names(), Names{});
}

TEST_F(WitnessTest, ReportsThatChangeNothing) {
  const TaskId task = submit(test::job(test::task(1000, 1)));
  tell(TaskRefused{task, 1, "no"});
  EXPECT_EQ(names(), Names{"refused_placed_again"});
  tell(TaskRefused{task, 1, "no"});
  tell(TaskExited{task, 1, 0});
  EXPECT_EQ(seen(RarePath::report_outdated), 2U);
  tell(TaskStarted{task, 2});
  EXPECT_EQ(seen(RarePath::report_repeated), 0U);
  tell(TaskStarted{task, 2});
  EXPECT_EQ(seen(RarePath::report_repeated), 1U);
  tell(TaskExited{task, 2, 0});
  EXPECT_EQ(seen(RarePath::report_of_forgotten), 0U);
  tell(TaskExited{task, 2, 0});
  EXPECT_EQ(seen(RarePath::report_of_forgotten), 1U);
  EXPECT_EQ(seen(RarePath::report_outdated), 2U);
}

// The job still lives, and the task has left by this very attempt.
TEST_F(WitnessTest, AReportAboutAnAttemptThatIsOver) {
  const TaskId task = submit(test::job(test::task(1000, 1), 2, 1));
  tell(TaskExited{task, 1, 0});
  EXPECT_EQ(names(), Names{"exit_before_start"});
  tell(TaskExited{task, 1, 0});
  EXPECT_EQ(seen(RarePath::report_repeated), 1U);
}

TEST_F(WitnessTest, EndsWhileStopping) {
  const TaskId well = submit(test::job(test::task(1000, 1)));
  const TaskId badly = submit(test::job(test::task(1000, 1)));
  for (const TaskId& task : {well, badly}) {
    tell(TaskStarted{task, 1});
    tell(JobCancelled{task.job});
  }
  tell(TaskExited{badly, 1, 143});
  EXPECT_EQ(names(), Names{});
  tell(TaskExited{well, 1, 0});
  EXPECT_EQ(names(), Names{"ended_while_stopping"});
}

TEST_F(WitnessTest, CancelledBeforeItsStartWasHeard) {
  tell(JobCancelled{submit(test::job(test::task(1000, 1))).job});
  EXPECT_EQ(names(), Names{"cancelled_at_launch"});
}

TEST_F(WitnessTest, WhatIsUnderATaskGoesAway) {
  submit(test::job(test::task(64'000, 2)));
  tell(DeviceHealthChanged{"n0", 1, Health::degraded});
  EXPECT_EQ(names(), Names{"device_lost_in_use"});
  tell(NodeReported{test::node("n1", {.cpu = 1000, .gpus = 2})});
  EXPECT_EQ(seen(RarePath::node_overdrawn), 0U);
  tell(NodeReported{test::node("n0", {.cpu = 1000, .gpus = 2})});
  EXPECT_EQ(seen(RarePath::node_overdrawn), 1U);
}

TEST_F(WitnessTest, AnotherAlternativeThanTheFirst) {
  const RoleSpec role{.name = "worker", .alternatives = {test::task(1000, 4), test::task(1000, 2)}};
  JobSpec spec{.name = "job"};
  spec.gangs = {std::make_shared<const GangSpec>(GangSpec{.groups = {{.roles = {role}}}})};
  submit(std::make_shared<const JobSpec>(spec));
  EXPECT_EQ(names(), Names{"second_choice_taken"});
}

TEST_F(WitnessTest, AMixThatIsGivenIsNotLearned) {
  tell(MixSet{{{test::task(1000, 1), 3}}});
  EXPECT_EQ(names(), Names{});
}

class LearningWitnessTest : public WitnessTest {
 protected:
  LearningWitnessTest() : WitnessTest(true) {}
};

TEST_F(LearningWitnessTest, AMixIsLearnedFromTheFirstJobAndInPlaceOfOneThatIsGiven) {
  const std::uint64_t before = seen(RarePath::mix_learned);
  submit(test::job(test::task(1000, 0)));
  EXPECT_EQ(seen(RarePath::mix_learned), before + 1);
  tell(NodeCordoned{"n1", true});
  EXPECT_EQ(seen(RarePath::mix_learned), before + 1);
  tell(MixSet{{{test::task(1000, 1), 3}}});
  EXPECT_EQ(seen(RarePath::mix_learned), before + 2);
}

}  // namespace tutti::witness_test
