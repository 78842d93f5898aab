/// What readers are shown, through a checkpoint; and what is forgotten of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "api/job_table.h"
#include "api/json_text.h"
#include "api/request_keys.h"
#include "format/json.h"
#include "generated/source_dir.h"
#include "model/state.h"

namespace tutti::table_checkpoint_test {

using ::testing::HasSubstr;

/// A State, and what follows it.
class TableCheckpointTest : public testing::Test {
 protected:
  TableCheckpointTest() {
    NodeSpec node{.name = "n0", .capacity = {{"cpu", 64'000}}};
    node.devices.assign(2, {.type = {.model = "T4", .memory_mib = 100}, .device = {}});
    apply(NodeReported{node});
  }

  void apply(const Event& event) {
    ASSERT_TRUE(state_.admissible(event).has_value());
    now_ = now_ + Duration::seconds(1);
    state_.apply(event, now_);
    happenings_.happened(++row_, event, state_);
    for (const Happening& each : happenings_.take()) {
      table_.apply(each);
      keys_.apply(each);
      table_.forget(each.at);
    }
  }
  JobId submit(Duration ttl = JobSpec::as_usual, const std::string& request = {}) {
    TaskShape shape{.resources = {{"cpu", 1000}}};
    const RoleSpec role{.name = "w", .count = 2, .min = 2, .alternatives = {shape}};
    JobSpec spec{.name = "job " + std::to_string(row_), .ttl = ttl};
    spec.gangs = {std::make_shared<const GangSpec>(GangSpec{.groups = {{.roles = {role}}}})};
    const JobId id = table_.next_id();
    apply(JobSubmitted{id, std::make_shared<const JobSpec>(std::move(spec)), request});
    return id;
  }
  void run(JobId id, std::int32_t code) {
    PlanDecided plan;
    for (std::uint32_t task = 0; task < 2; ++task) {
      Action action{.task = {id, task}, .attempt = 1, .shape = ShapeIndex(0), .node = NodeIndex(0)};
      action.devices.add(task);
      plan.actions.push_back(action);
    }
    apply(plan);
    for (std::uint32_t task = 0; task < 2; ++task) apply(TaskStarted{{id, task}, 1});
    for (std::uint32_t task = 0; task < 2; ++task) apply(TaskExited{{id, task}, 1, code});
  }
  /// Jobs in every state.
  void live() {
    run(submit(), 0);
    run(submit(), 137);
    const JobId refused = submit();
    PlanDecided plan;
    for (std::uint32_t task = 0; task < 2; ++task) {
      plan.actions.push_back(
          {.task = {refused, task}, .attempt = 1, .shape = ShapeIndex(0), .node = NodeIndex(0)});
    }
    apply(plan);
    apply(TaskRefused{{refused, 0}, 1, "no such program"});
    held_ = submit();
    apply(JobHeld{held_, true});
    apply(JobCancelled{submit()});
    submit(JobSpec::as_usual, "00000000000000ff key ana");
  }
  static std::string shown(const JobTable& table) {
    std::string out;
    table.each({}, JobId(), [&](const JobRow& row) {
      JsonWriter json(out);
      write_job(json, table, row);
      out += '\n';
      return true;
    });
    return out;
  }
  std::string bytes() const {
    std::string out;
    CheckpointWriter writer(state_, [&](std::string_view piece) { out += piece; });
    table_.write(writer);
    keys_.write(writer);
    writer.finish();
    return out;
  }
  static Result<void> read(const std::string& bytes, JobTable& table, RequestKeys& keys) {
    State state;
    CheckpointReader reader(bytes);
    TRY(reader.read(state));
    TRY(table.read(reader));
    TRY(keys.read(reader));
    return reader.finish();
  }
  bool knows(JobId id) const { return table_.find(id) != nullptr; }

  State state_;
  JobTable table_{{.ended = Duration::seconds(1000), .most = 3}};
  RequestKeys keys_;
  JobId held_;
  Happenings happenings_;
  JournalRow row_ = 0;
  Instant now_;
};

/// The first form of these sections is read for ever: TUTTI_UPDATE=1 rewrites what holds it, only
/// before the release that writes it.
TEST_F(TableCheckpointTest, TheFirstFormIsReadForEver) {
  const std::string path = TUTTI_SOURCE_DIR "/tests/golden/checkpoint-jobs-1";
  if (std::getenv("TUTTI_UPDATE") != nullptr) {
    live();
    std::ofstream(path, std::ios::binary) << bytes();
    std::ofstream(path + ".json") << shown(table_);
  }
  const auto text_of = [](const std::string& name) {
    std::ifstream file(name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  JobTable table(table_.keeping());
  RequestKeys keys;
  const auto done = read(text_of(path), table, keys);
  ASSERT_TRUE(done.has_value()) << done.error().text();
  EXPECT_EQ(shown(table), text_of(path + ".json"));
  EXPECT_NE(keys.find("key ana"), nullptr);
}

TEST_F(TableCheckpointTest, ReadersSeeTheSameAfterwards) {
  live();
  JobTable table(table_.keeping());
  RequestKeys keys;
  const auto done = read(bytes(), table, keys);
  ASSERT_TRUE(done.has_value()) << done.error().text();
  EXPECT_EQ(shown(table), shown(table_));
  EXPECT_EQ(table.next_id(), table_.next_id());
  for (std::size_t state = 0; state < job_states; ++state) {
    EXPECT_EQ(table.count(static_cast<JobState>(state)),
              table_.count(static_cast<JobState>(state)));
  }
  EXPECT_TRUE(table.knows_node("n0"));
  ASSERT_NE(keys.find("key ana"), nullptr);
  EXPECT_EQ(keys.find("key ana")->content, 255U);
  EXPECT_EQ(keys.find("key ana")->jobs, keys_.find("key ana")->jobs);
}

TEST_F(TableCheckpointTest, GoesOnAfterwards) {
  const JobId job = submit();
  run(submit(), 0);
  JobTable table(table_.keeping());
  RequestKeys keys;
  ASSERT_TRUE(read(bytes(), table, keys).has_value());
  std::swap(table_, table);  // The one that was read hears the rest.
  run(job, 3);
  EXPECT_EQ(table_.find(job)->state, JobState::failed);
  now_ = now_ + Duration::seconds(996);  // The second one goes first, as it ended first.
  table_.forget(now_);
  EXPECT_FALSE(knows(JobId(2)));
  EXPECT_TRUE(knows(job));
}

TEST_F(TableCheckpointTest, EndedJobsAreForgottenByTheirTime) {
  const JobId usual = submit();
  const JobId brief = submit(Duration{});
  const JobId longer = submit(Duration::seconds(5000));
  for (const JobId each : {usual, brief, longer}) run(each, 0);
  const Instant end = now_;
  table_.forget(end + Duration::seconds(40));
  EXPECT_TRUE(knows(brief)) << "whoever waits for it must see its end";
  table_.forget(end + Duration::seconds(61));
  EXPECT_FALSE(knows(brief));
  EXPECT_TRUE(table_.forgot(brief));
  EXPECT_FALSE(table_.forgot(JobId(4))) << "there never was such a job";
  EXPECT_FALSE(table_.forgot(JobId(0)));
  EXPECT_EQ(table_.count(JobState::succeeded), 2U);
  table_.forget(end + Duration::seconds(1001));
  EXPECT_FALSE(knows(usual));
  EXPECT_TRUE(knows(longer));
  table_.forget(end + Duration::seconds(5001));
  EXPECT_FALSE(knows(longer));
  EXPECT_EQ(table_.size(), 0U);
}

TEST_F(TableCheckpointTest, NoMoreThanSoManyEndedOnesAreKept) {
  const JobId waits = submit();
  std::vector<JobId> jobs;
  for (int count = 0; count < 5; ++count) {
    jobs.push_back(submit());
    run(jobs.back(), 0);
  }
  EXPECT_TRUE(knows(waits));
  EXPECT_FALSE(knows(jobs[0]));
  EXPECT_FALSE(knows(jobs[1]));
  for (std::size_t at = 2; at < 5; ++at) EXPECT_TRUE(knows(jobs[at])) << at;
}

TEST_F(TableCheckpointTest, DamageIsSurvived) {
  run(submit(), 1);
  submit(JobSpec::as_usual, "00000000000000ff key ana");
  const std::string whole = bytes();
  for (std::size_t size = 0; size < whole.size(); size += 2) {
    JobTable table;
    RequestKeys keys;
    ASSERT_FALSE(read(whole.substr(0, size), table, keys).has_value()) << size;
  }
  for (std::size_t bit = whole.size() * 6; bit < whole.size() * 8; bit += 5) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    JobTable table;
    RequestKeys keys;
    const bool good = read(damaged, table, keys).has_value();
    EXPECT_LE(good ? table.size() : 0, 2U);
  }
}

}  // namespace tutti::table_checkpoint_test
