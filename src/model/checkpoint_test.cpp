#include "model/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/test_state.h"

namespace tutti::checkpoint_test {

using ::testing::HasSubstr;

std::string bytes_of(const State& state) {
  std::string bytes;
  CheckpointWriter writer(state, [&](std::string_view piece) { bytes += piece; });
  writer.finish();
  return bytes;
}

Result<State> state_of(std::string_view bytes, std::uint64_t rows = CheckpointReader::rows_most) {
  State state;
  CheckpointReader reader(bytes, rows);
  TRY(reader.read(state));
  TRY(reader.finish());
  return state;
}

/// A State in which a bit of everything has happened.
class CheckpointTest : public test::StateTest {
 protected:
  void live() {
    NodeSpec other = test::node("n2", 4);
    other.pool = "edge";
    other.labels = Labels(std::vector<Label>{{"rack", "r1"}});
    other.taints = {{.key = "k", .effect = TaintEffect::prefer_no_schedule}};
    other.stack = {{"cuda", "12.4"}};
    other.capacity.push_back({"hca", 3});
    other.capacity.push_back({"pods", 0});
    apply(NodeReported{other});
    apply(TreesDeclared{{{.name = "net", .levels = {"zone", "rack"}}}});
    apply(QueueSet{{.name = "a/b/c", .limit = {{"gpu", 4}, {"cpu", 9000}}, .weight = 3}});
    apply(QueueSet{{.name = "a", .limit = {}, .guarantee = {{"gpu", 1}}}});
    apply(MixSet{{{.shape = test::shape(500, 2), .count = 7}}, true});
    apply(NodeCordoned{"n1", true, true});
    apply(DeviceHealthChanged{"n2", 3, Health::flapping});
    waiting_ = submit();  // Shares its gang with the next one.
    JobSpec spec = test::job(3, test::shape(100, 0));
    spec.queue = "a/b/c";
    spec.rules = {.run_time_max = Duration::seconds(60), .retries = 2};
    spec.gangs.push_back(spec.gangs.front());
    running_ = submit(spec);
    place({running_, 0}, 0, {});
    place({running_, 1}, 2, {});
    apply(TaskStarted{{running_, 0}, 1});
    apply(TaskExited{{running_, 0}, 1, 7});
    evict({running_, 1}, 1);
    const JobId over = submit(test::job(1));
    place({over, 0}, 0, {1});
    apply(TaskExited{{over, 0}, 1, 0});
    JobSpec dependent = test::job(1);
    dependent.rules.after = {{.job = running_, .on = Dependency::On::end},
                             {.job = running_, .on = Dependency::On::start}};
    dependent.held = true;
    submit(dependent);
    place({waiting_, 1}, 0, {0});
    apply(NodeLost{"n1"});
  }

  JobId waiting_;
  JobId running_;
};

TEST_F(CheckpointTest, IsTheSameStateAgain) {
  live();
  const std::string bytes = bytes_of(state_);
  const auto read = state_of(bytes);
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(read->hash(), state_.hash());
  EXPECT_EQ(read->verify(), "");
  EXPECT_EQ(bytes_of(*read), bytes);
  EXPECT_EQ(read->version(), state_.version());
  EXPECT_EQ(read->mix_version(), state_.mix_version());
  EXPECT_EQ(read->arrivals().seen(), state_.arrivals().seen());
  EXPECT_EQ(read->dependents().waiting_for(running_).size(), 1U);
  EXPECT_FALSE(read->changes().reaches(0)) << "what was derived before must be made anew";
}

TEST_F(CheckpointTest, GoesOnAsTheStateThatWasWritten) {
  live();
  State other = *state_of(bytes_of(state_));
  const auto both = [&](const Event& event) {
    apply(event);
    other.apply(event, now_);
    ASSERT_EQ(other.hash(), state_.hash()) << name_of(event);
  };
  both(TaskExited{{running_, 1}, 1, 143});  // The other rows of the gang follow; its pause begins.
  both(TimePassed{});
  both(JobCancelled{running_});  // Whom it kept waiting hears of it.
  both(JobSubmitted{JobId(90), std::make_shared<const JobSpec>(test::job(3))});  // Into freed rows.
  both(JobSubmitted{JobId(91), std::make_shared<const JobSpec>(test::job(2))});
  JobSpec late = test::job(1);
  late.rules.after = {{.job = JobId(2)}};  // Which ended long ago.
  both(JobSubmitted{JobId(92), std::make_shared<const JobSpec>(late)});
  both(NodeReported{test::node("n3", 1)});
  both(NodeCordoned{"n1", false});
  EXPECT_EQ(bytes_of(other), bytes_of(state_));
}

TEST_F(CheckpointTest, SharesWhatSeveralJobsHave) {
  const auto spec = std::make_shared<const JobSpec>(test::job());
  apply(JobSubmitted{JobId(1), spec});
  const std::size_t one = bytes_of(state_).size();
  apply(JobSubmitted{JobId(2), spec});
  EXPECT_LT(bytes_of(state_).size(), one + 20);
  apply(JobSubmitted{JobId(3), std::make_shared<const JobSpec>(test::job())});
  EXPECT_LT(bytes_of(state_).size(), one + 40) << "an equal gang is written once";
  const State read = *state_of(bytes_of(state_));
  EXPECT_EQ(read.jobs()[read.find(JobId(1))].spec, read.jobs()[read.find(JobId(2))].spec);
  EXPECT_EQ(read.jobs()[read.find(JobId(1))].spec->gangs[0],
            read.jobs()[read.find(JobId(3))].spec->gangs[0]);
}

TEST_F(CheckpointTest, OthersWriteBehindIt) {
  live();
  std::string bytes;
  CheckpointWriter writer(state_, [&](std::string_view piece) { bytes += piece; });
  writer.begin("mine");
  writer.out().signed_number(-5);
  writer.spec(state_.jobs()[state_.find(running_)].spec);
  auto ended = std::make_shared<const JobSpec>(test::job(1));  // Of a job that State forgot.
  writer.spec(ended);
  writer.finish();
  State state;
  CheckpointReader reader(bytes);
  ASSERT_TRUE(reader.read(state).has_value());
  EXPECT_FALSE(reader.begin("yours"));
  ASSERT_TRUE(reader.begin("mine"));
  EXPECT_EQ(reader.in().signed_number(), -5);
  EXPECT_EQ(reader.spec(), state.jobs()[state.find(running_)].spec);
  EXPECT_EQ(reader.spec()->gangs[0]->groups[0].roles[0].alternatives[0], test::shape());
  EXPECT_TRUE(reader.finish().has_value());
  CheckpointReader hasty(bytes);
  State again;
  ASSERT_TRUE(hasty.read(again).has_value());
  EXPECT_THAT(hasty.finish().error().what, HasSubstr("not known here"));
}

// --- What is refused ----------------------------------------------------------------------------

TEST_F(CheckpointTest, EveryCutAndEveryFlippedBitIsSurvived) {
  live();
  const std::string bytes = bytes_of(state_);
  for (std::size_t size = 0; size < bytes.size(); size += 3) {
    const auto read = state_of(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(read.has_value()) << size;
    EXPECT_THAT(read.error().where, HasSubstr("byte ")) << size;
  }
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += 31) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const auto read = state_of(damaged, 10'000);
    ASSERT_EQ(read ? read->verify() : "", "") << bit;
  }
}

std::string said_of(std::string_view bytes) {
  const auto read = state_of(bytes);
  return read ? "" : read.error().what;
}

TEST_F(CheckpointTest, SaysWhatItIsNot) {
  EXPECT_EQ(said_of("\x0bno checkpoint"), "this is no checkpoint");
  std::string bytes = bytes_of(state_);
  ++bytes[12];
  EXPECT_EQ(said_of(bytes), "format 2 is newer than 1, the newest one known here");
  bytes = bytes_of(state_);
  EXPECT_EQ(said_of(bytes + "x"), "something follows its end");
  bytes[bytes.find("compute_permille")] = 'd';
  EXPECT_EQ(said_of(bytes), "the field \"dompute_permille\" of device_request is not known here");
}

/// A field that was not there when it was written has its default.
TEST_F(CheckpointTest, MissingFieldsAreDefaults) {
  BytesOut out;
  out.text("tutti state");
  out.number(1);
  out.number(1);
  out.text("queue");
  out.number(1);
  out.text("name");
  out.text("state");
  out.signed_number(77);
  out.number(3);
  for (int table = 0; table < 5; ++table) out.number(0);  // The fleet.
  out.number(0);                                          // Shapes, of gangs too.
  out.number(0);
  out.number(1);
  out.number(1);
  out.text("default");
  out.number(0);
  for (int table = 0; table < 3; ++table) {
    out.number(0);
    out.number(0);
  }
  for (int left = 0; left < 7; ++left) out.number(0);
  out.text("end");
  const auto read = state_of(out.bytes());
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(read->now().us, 77);
  EXPECT_EQ(read->queue(QueueIndex(0)).spec, (QueueSpec{.name = "default"}));
}

TEST(BytesTest, NumbersOfEverySizeComeBack) {
  BytesOut out;
  const std::vector<std::uint64_t> numbers{0,         1, 127, 128, 16'383, 16'384, UINT64_MAX - 1,
                                           UINT64_MAX};
  const std::vector<std::int64_t> signed_numbers{0, -1, 63, -64, 64, INT64_MIN, INT64_MAX};
  for (const std::uint64_t each : numbers) out.number(each);
  for (const std::int64_t each : signed_numbers) out.signed_number(each);
  out.text("a");
  BytesIn in(out.bytes());
  for (const std::uint64_t each : numbers) EXPECT_EQ(in.number(), each);
  for (const std::int64_t each : signed_numbers) EXPECT_EQ(in.signed_number(), each);
  EXPECT_EQ(in.text(), "a");
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(in.number(), 0U);
  EXPECT_EQ(in.result().error().text(), "error: byte 58: it ends too early\n");
}

TEST(BytesTest, NumbersThatAreTooLongAreRefused) {
  BytesIn many(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10));
  many.number();
  EXPECT_THAT(many.result().error().what, HasSubstr("64 bits"));
  BytesIn count(std::string_view("\x05zz", 3));
  EXPECT_EQ(count.text(), "");
  EXPECT_THAT(count.result().error().what, HasSubstr("a count is 5; at most 2"));
}

}  // namespace tutti::checkpoint_test
