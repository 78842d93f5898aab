#include "api/job_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "api/json_text.h"
#include "model/state.h"

namespace tutti::job_table_test {

using testing::ElementsAre;
using testing::HasSubstr;

/// A State and the table that follows it.
class JobTableTest : public testing::Test {
 protected:
  JobTableTest() {
    for (const char* name : {"n0", "n1"}) {
      NodeSpec node{.name = name, .capacity = {{"cpu", 8000}}};
      node.devices.assign(2, {.type = {.model = "T4", .memory_mib = 100}, .device = {}});
      apply(NodeReported{node});
    }
  }

  void apply(const Event& event) {
    ASSERT_TRUE(state_.admissible(event).has_value());
    now_ = now_ + Duration::seconds(1);
    state_.apply(event, now_);
    happenings_.happened(++row_, event, state_);
    for (const Happening& each : happenings_.take()) table_.apply(each);
  }
  JobId submit(std::uint32_t tasks = 1, bool held = false, JobRules rules = {}) {
    TaskShape shape{.resources = {{"cpu", 1000}}};
    shape.devices = {{.where = {}, .count = 1}};
    const RoleSpec role{.name = "w", .count = tasks, .min = tasks, .alternatives = {shape}};
    JobSpec spec{.name = "job", .held = held, .rules = std::move(rules)};
    spec.gangs = {std::make_shared<const GangSpec>(GangSpec{.groups = {{.roles = {role}}}})};
    const JobId id = table_.next_id();
    apply(JobSubmitted{id, std::make_shared<const JobSpec>(std::move(spec))});
    return id;
  }
  Action placement(TaskId id, std::uint64_t node, unsigned device) {
    const Task& task = state_.tasks()[state_.find(id)];
    Action action{
        .task = id, .attempt = task.attempt + 1, .shape = task.shape, .node = NodeIndex(node)};
    action.devices.add(device);
    return action;
  }
  const JobRow& row(JobId id) const { return *table_.find(id); }
  std::string json(JobId id) const {
    std::string out;
    JsonWriter writer(out);
    write_job(writer, table_, row(id));
    return out;
  }

  State state_;
  JobTable table_;
  Happenings happenings_;
  Instant now_;
  JournalRow row_ = 0;
};

TEST_F(JobTableTest, FollowsAJobFromItsSubmissionToItsEnd) {
  EXPECT_EQ(table_.next_id(), JobId(1));
  const JobId id = submit();
  EXPECT_EQ(table_.next_id(), JobId(2));
  EXPECT_EQ(row(id).state, JobState::pending);
  EXPECT_THAT(json(id), HasSubstr(R"("attempt":0,"exit_code":null)"));
  apply(PlanDecided{{placement({id, 0}, 1, 1)}});
  EXPECT_EQ(row(id).state, JobState::running);
  EXPECT_FALSE(row(id).started.has_value());
  apply(TaskStarted{{id, 0}, 1});
  EXPECT_EQ(row(id).started, now_);
  apply(TaskExited{{id, 0}, 1, 0});
  EXPECT_FALSE(state_.find(id).valid());  // State forgot it, the table did not.
  EXPECT_EQ(row(id).state, JobState::succeeded);
  EXPECT_EQ(json(id),
            R"({"id":"1","name":"job","queue":"default","user":"","priority":0,)"
            R"("state":"succeeded","reason":"","tasks":1,"attempt":1,"exit_code":0,)"
            R"("submitted":"1970-01-01T00:00:03.000000Z",)"
            R"("started":"1970-01-01T00:00:05.000000Z",)"
            R"("finished":"1970-01-01T00:00:06.000000Z","nodes":["n1"],"devices":["n1/1"]})");
}

TEST_F(JobTableTest, SaysWhyAJobFailed) {
  const JobId id = submit(2);
  apply(PlanDecided{{placement({id, 0}, 0, 0), placement({id, 1}, 0, 1)}});
  apply(TaskExited{{id, 1}, 1, 137, ExitCause::out_of_memory});
  EXPECT_EQ(row(id).state, JobState::running);
  apply(TaskExited{{id, 0}, 1, 0});
  EXPECT_EQ(row(id).state, JobState::failed);
  EXPECT_EQ(row(id).reason, "task 1 ran out of memory");
  EXPECT_THAT(json(id), HasSubstr(R"("exit_code":137)"));
}

TEST_F(JobTableTest, ItsCodeIsThatOfTheTaskThatFailed) {
  const GangRule stop{.when = GangRule::When::task_failed, .then = GangRule::Then::stop};
  const JobId id = submit(2, false, {.gang_rules = {stop}});
  apply(PlanDecided{{placement({id, 0}, 0, 0), placement({id, 1}, 0, 1)}});
  apply(TaskExited{{id, 1}, 1, 9});
  apply(PlanDecided{{{.kind = ActionKind::evict, .task = {id, 0}, .attempt = 1}}});
  apply(TaskExited{{id, 0}, 1, 143, ExitCause::signalled});
  EXPECT_EQ(row(id).state, JobState::failed);
  EXPECT_EQ(row(id).reason, "task 1 exited with code 9");
  EXPECT_THAT(json(id), HasSubstr(R"("exit_code":9)"));
}

TEST_F(JobTableTest, WaitsAgainAfterItsNodeWasLost) {
  const JobId id = submit();
  apply(PlanDecided{{placement({id, 0}, 0, 0)}});
  apply(TaskStarted{{id, 0}, 1});
  apply(NodeLost{"n0"});
  EXPECT_EQ(row(id).state, JobState::pending);
  EXPECT_EQ(row(id).reason, "must be placed anew");
  apply(PlanDecided{{placement({id, 0}, 1, 0)}});
  apply(TaskExited{{id, 0}, 1, 5});  // Of the attempt that was lost.
  EXPECT_EQ(row(id).tasks[0].exit_code, 0);
  EXPECT_EQ(row(id).reason, "");
  EXPECT_THAT(json(id), HasSubstr(R"("attempt":2)"));
}

TEST_F(JobTableTest, ShowsWhatIsCancelledHeldAndRefused) {
  const JobId held = submit(1, true);
  EXPECT_EQ(row(held).state, JobState::held);
  apply(JobHeld{held, false});
  EXPECT_EQ(row(held).state, JobState::pending);
  apply(PlanDecided{{placement({held, 0}, 0, 0)}});
  apply(TaskRefused{{held, 0}, 1, "no such program"});
  EXPECT_EQ(row(held).reason, "could not be started: no such program");
  apply(JobCancelled{held});
  EXPECT_EQ(row(held).state, JobState::cancelled);
  EXPECT_TRUE(row(held).finished.has_value());

  const JobId running = submit();
  apply(PlanDecided{{placement({running, 0}, 0, 0)}});
  apply(JobCancelled{running});
  EXPECT_EQ(row(running).state, JobState::running);
  EXPECT_EQ(row(running).reason, "being stopped");
  apply(PlanDecided{{{.kind = ActionKind::evict, .task = {running, 0}, .attempt = 1}}});
  apply(TaskExited{{running, 0}, 1, 143, ExitCause::signalled});
  EXPECT_EQ(row(running).state, JobState::cancelled);
  EXPECT_THAT(json(running), HasSubstr(R"("exit_code":null)"));
}

TEST_F(JobTableTest, AJobThatCannotBeStartedFails) {
  const JobId id = submit(1, false, {.launches = 2});
  apply(PlanDecided{{placement({id, 0}, 0, 0)}});
  EXPECT_EQ(row(id).state, JobState::running);
  apply(TaskRefused{{id, 0}, 1, "no such program"});
  apply(TaskRefused{{id, 0}, 1, "no such program"});  // Said twice, it is one.
  EXPECT_EQ(row(id).state, JobState::pending);
  apply(PlanDecided{{placement({id, 0}, 0, 0)}});
  apply(TaskRefused{{id, 0}, 2, "no such program"});
  EXPECT_EQ(row(id).state, JobState::failed);
  EXPECT_EQ(row(id).reason, "could not be started: no such program");
  EXPECT_THAT(json(id), HasSubstr(R"("exit_code":null)"));
}

TEST_F(JobTableTest, ListsTheNewestFirst) {
  for (int job = 0; job < 4; ++job) submit();
  apply(JobCancelled{JobId(2)});
  const auto ids = [&](const std::vector<JobState>& states, std::uint64_t below, std::size_t most) {
    JobStates wanted;
    for (const JobState state : states) wanted.set(static_cast<std::size_t>(state));
    std::vector<std::uint64_t> out;
    table_.each(wanted, JobId(below), [&](const JobRow& each) {
      out.push_back(each.id.value());
      return out.size() < most;
    });
    return out;
  };
  EXPECT_THAT(ids({}, 100, 3), ElementsAre(4, 3, 2));
  EXPECT_THAT(ids({}, 2, 3), ElementsAre(1));
  EXPECT_THAT(ids({}, 1, 3), ElementsAre());
  EXPECT_THAT(ids({JobState::pending}, 4, 3), ElementsAre(3, 1));
  EXPECT_THAT(ids({JobState::cancelled}, 100, 3), ElementsAre(2));
  EXPECT_THAT(ids({JobState::failed}, 100, 3), ElementsAre());
  EXPECT_THAT(ids({JobState::cancelled, JobState::pending}, 100, 9), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(ids({JobState::cancelled, JobState::pending}, 4, 2), ElementsAre(3, 2));
  EXPECT_THAT(ids({JobState::cancelled, JobState::failed}, 2, 9), ElementsAre());
  EXPECT_EQ(table_.count(JobState::pending), 3U);
}

TEST(Rfc3339Test, WritesTimesAsUtc) {
  EXPECT_EQ(rfc3339(Instant{0}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(rfc3339(Instant{1'709'210'096'000'007}), "2024-02-29T12:34:56.000007Z");
  EXPECT_EQ(rfc3339(Instant{253'402'300'799'999'999}), "9999-12-31T23:59:59.999999Z");
}

}  // namespace tutti::job_table_test
