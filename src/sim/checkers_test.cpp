#include "sim/checkers.h"

#include <gmock/gmock.h>

#include "model/test_state.h"

namespace tutti::test::checkers_test {

using testing::HasSubstr;

/// Four nodes in two racks, and a gang of two tasks that asks to be within one.
class CheckersTest : public StateTest {
 protected:
  CheckersTest() {
    for (unsigned at = 0; at < 4; ++at) apply(NodeReported{in_rack(at, at / 2)});
  }

  static NodeSpec in_rack(unsigned at, unsigned rack) {
    NodeSpec spec = node("n" + std::to_string(at));
    spec.labels.set("rack", "r" + std::to_string(rack));
    return spec;
  }
  static JobSpec pair(const Closeness& of_gang, const Closeness& of_group) {
    JobSpec spec = job(2, shape(1000, 0));
    GangSpec gang = *spec.gangs.front();
    gang.closeness = of_gang;
    gang.groups.front().closeness = of_group;
    spec.gangs = {std::make_shared<const GangSpec>(gang)};
    return spec;
  }
  JobId stand(const JobSpec& spec, std::uint64_t first, std::uint64_t second) {
    const JobId id = submit(spec);
    apply(PlanDecided{{placement({id, 0}, first, {}), placement({id, 1}, second, {})}});
    return id;
  }
  void tell(const Event& event) {
    uprooted_.before(state_, event);
    apply(event);
  }
  std::string violation() const {
    return check_invariants(state_, {.jobs_alive = state_.live_jobs(), .uprooted = uprooted_});
  }

  Uprooted uprooted_;
};

TEST_F(CheckersTest, WhatMustBeCloseIs) {
  const Closeness rack{"rack", true};
  stand(pair({}, rack), 0, 1);
  stand(pair(rack, {}), 2, 3);
  stand(pair({"rack", false}, {"rack", false}), 1, 2);
  EXPECT_EQ(violation(), "");
  stand(pair({}, rack), 0, 2);
  EXPECT_EQ(violation(), "job 3 must be together within \"rack\", and stands apart on n0 and n2");
}

TEST_F(CheckersTest, AGangIsOneWholeAndAHostOneNode) {
  const JobId id = stand(pair({"rack", true}, {}), 1, 2);
  EXPECT_THAT(violation(), HasSubstr("stands apart on n1 and n2"));
  apply(TaskExited{{id, 0}, 1, 0});
  apply(TaskExited{{id, 1}, 1, 0});
  stand(pair({"host", true}, {}), 0, 1);
  EXPECT_THAT(violation(), HasSubstr("within \"host\""));
}

TEST_F(CheckersTest, ANodeWithoutTheLabelIsNearNobody) {
  stand(pair({"zone", true}, {}), 0, 0);
  EXPECT_THAT(violation(), HasSubstr("within \"zone\""));
}

TEST_F(CheckersTest, LabelsMayChangeUnderAGang) {
  const JobId id = stand(pair({}, {"rack", true}), 0, 1);
  NodeSpec same = in_rack(1, 0);
  same.labels.set("other", "x");
  tell(NodeReported{same});
  EXPECT_FALSE(uprooted_.covers(state_, GangIndex(0)));
  tell(NodeReported{in_rack(1, 1)});
  EXPECT_EQ(violation(), "");
  EXPECT_TRUE(uprooted_.covers(state_, GangIndex(0)));
  // Placed anew after the labels changed, it has no excuse.
  tell(TaskRefused{{id, 0}, 1, ""});
  EXPECT_TRUE(uprooted_.covers(state_, GangIndex(0)));
  tell(TaskRefused{{id, 1}, 1, ""});
  Action first = placement({id, 0}, 0, {});
  Action second = placement({id, 1}, 1, {});
  first.attempt = second.attempt = 2;
  tell(PlanDecided{{first, second}});
  EXPECT_FALSE(uprooted_.covers(state_, GangIndex(0)));
  EXPECT_THAT(violation(), HasSubstr("stands apart on n0 and n1"));
}

TEST_F(CheckersTest, OnlyGangsOnTheNodeAreExcused) {
  stand(pair({}, {"rack", true}), 0, 2);
  tell(NodeReported{in_rack(1, 1)});
  EXPECT_THAT(violation(), HasSubstr("stands apart"));
}

}  // namespace tutti::test::checkers_test
