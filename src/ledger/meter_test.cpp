#include "ledger/meter.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "model/test_state.h"

namespace tutti::meter_test {

constexpr Duration hour = Duration::seconds(3600);
constexpr Duration day = Duration::seconds(86'400);

/// A State, and the meter that hears of it.
class MeterTest : public test::StateTest {
 protected:
  MeterTest() { now_ = Instant{} + day; }

  void happen(const Event& event) {
    apply(event);
    std::vector<Holding> begun;
    for (const TaskMove& move : state_.moves()) {
      if (move.phase == TaskPhase::running) begun.push_back(holding_of(state_, move));
    }
    meter_.apply(now_, state_.moves(), begun);
  }
  /// The clock is put on, to the full time: events themselves take a millisecond each.
  void pass(Duration time) { now_ = now_ + time; }
  JobId job(const std::string& user, TaskShape of, std::uint32_t tasks = 1) {
    JobSpec spec = test::job(tasks, std::move(of));
    spec.user = user;
    spec.name = user + "'s";
    return submit(std::move(spec));
  }
  void start(JobId id, std::uint32_t ordinal = 0, const std::vector<unsigned>& devices = {0}) {
    const Action action = placement({id, ordinal}, 0, devices);
    happen(PlanDecided{{action}});
    happen(TaskStarted{action.task, action.attempt});
  }
  void end(JobId id, std::uint32_t attempt = 1, std::uint32_t ordinal = 0, std::int32_t code = 0) {
    happen(TaskExited{{id, ordinal}, attempt, code});
  }
  /// All days that are kept.
  Meter::Question all() const {
    return {.since = 0,
            .until = day_of(now_),
            .now = now_,
            .wanted = [](const std::string&, const std::string&) { return true; }};
  }
  Used total(const Meter::Question& question) const {
    Used sum;
    for (const auto& [key, used] : meter_.report(question)) sum += used;
    return sum;
  }
  std::string bytes() const {
    std::string out;
    CheckpointWriter writer(state_, [&](std::string_view piece) { out += piece; });
    meter_.write(writer);
    writer.finish();
    return out;
  }
  static Result<void> read(const std::string& bytes, Meter& meter) {
    State state;
    CheckpointReader reader(bytes);
    TRY(reader.read(state));
    TRY(meter.read(reader));
    return reader.finish();
  }

  Meter meter_;
};

TaskShape share(std::uint16_t permille) {
  TaskShape out = test::shape(500, 1);
  out.devices.front().compute_permille = permille;
  return out;
}

TEST_F(MeterTest, WhatRunsCountsUntilNowAndThenUntilItsEnd) {
  const JobId id = job("ana", test::shape(2000, 2));
  pass(hour);  // It waits, and uses nothing.
  EXPECT_EQ(total(all()), Used());
  start(id, 0, {0, 1});
  pass(hour);
  const Used half = total(all());
  EXPECT_EQ(half, (Used{.device_permille_s = std::int64_t{2000} * 3600,
                        .core_permille_s = std::int64_t{2000} * 3600,
                        .jobs = 1,
                        .tasks = 1}));
  pass(hour);
  end(id);
  const Used whole = total(all());
  EXPECT_EQ(whole.device_permille_s, 2000 * 7200 + 2) << "and a millisecond";
  pass(hour);
  EXPECT_EQ(total(all()), whole);
}

TEST_F(MeterTest, AShareCountsForWhatItIs) {
  const JobId id = job("ana", share(300));
  start(id);
  pass(hour);
  EXPECT_EQ(total(all()).device_permille_s, 300 * 3600);
  EXPECT_EQ(total(all()).core_permille_s, 500 * 3600);
}

TEST_F(MeterTest, OfASmallShareWithMuchMemoryItsMemoryCounts) {
  TaskShape shape = share(100);
  shape.devices.front().memory_mib = 75;  // Of 100.
  start(job("ana", shape));
  pass(hour);
  EXPECT_EQ(total(all()).device_permille_s, 750 * 3600);
}

TEST_F(MeterTest, FailedAttemptsCountTooAndTheJobOnce) {
  JobSpec spec = test::job(1);
  spec.rules.retries = 1;
  const JobId id = submit(spec);
  start(id);
  pass(hour);
  end(id, 1, 0, 7);
  pass(hour);  // It is not placed.
  happen(TimePassed{});
  start(id);
  pass(hour);
  end(id, 2);
  const Used used = total(all());
  EXPECT_EQ(used.device_permille_s, 1000 * 7200 + 2);
  EXPECT_EQ(used.jobs, 1);
  EXPECT_EQ(used.tasks, 2);
}

TEST_F(MeterTest, ALostNodeEndsWhatRanThere) {
  start(job("ana", test::shape()));
  pass(hour);
  happen(NodeLost{"n0"});
  pass(hour);
  EXPECT_EQ(total(all()).device_permille_s, 1000 * 3600 + 1);
}

TEST_F(MeterTest, ATaskThatNeverRanUsesNothing) {
  const JobId id = job("ana", test::shape());
  const Action action = placement({id, 0}, 0, {0});
  happen(PlanDecided{{action}});
  pass(hour);
  happen(TaskRefused{action.task, action.attempt, "no such program"});
  EXPECT_TRUE(meter_.report(all()).empty());
}

TEST_F(MeterTest, ADayHasItsOwnShare) {
  const JobId id = job("ana", test::shape());
  pass({(day - Duration{now_.us % day.us} - hour).us});  // An hour before midnight.
  start(id);
  pass(Duration::seconds(7200) + day);
  end(id);
  const Day last = day_of(now_);
  const auto on = [&](Day which) {
    Meter::Question question = all();
    question.since = question.until = which;
    return total(question).device_permille_s;
  };
  EXPECT_EQ(on(last - 2), 1000 * 3600 - 2) << "two milliseconds late";
  EXPECT_EQ(on(last - 1), 1000 * 86'400);
  EXPECT_EQ(on(last), 1000 * 3600 + 3);
  Meter::Question question = all();
  question.since = last;
  EXPECT_EQ(total(question).tasks, 0) << "it started before";
}

TEST_F(MeterTest, RowsTellApartWhatWasAskedForTheLargestFirst) {
  const JobId small = job("ana", share(300));
  const JobId large = job("bob", test::shape(1000, 1));
  const JobId none = job("bob", test::shape(4000, 0));
  start(small);
  start(large, 0, {1});
  start(none, 0, {});
  pass(hour);
  Meter::Question question = all();
  question.by_user = true;
  const auto users = meter_.report(question);
  ASSERT_EQ(users.size(), 2U);
  EXPECT_EQ(users[0].first.user, "bob");
  EXPECT_EQ(users[0].second.jobs, 2);
  EXPECT_EQ(users[1].first.user, "ana");
  question.by_model = true;
  EXPECT_EQ(meter_.report(question).size(), 3U) << "bob's without a device is a row of its own";
  question = all();
  question.by_job = true;
  const auto jobs = meter_.report(question);
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_EQ(jobs[0].first.job, large);
  EXPECT_EQ(jobs[0].first.name, "bob's");
  EXPECT_EQ(jobs[0].first.queue, "default");
  question.wanted = [](const std::string& user, const std::string&) { return user == "ana"; };
  EXPECT_EQ(meter_.report(question).size(), 1U);
}

TEST_F(MeterTest, GoesOnFromACheckpoint) {
  const JobId done = job("ana", share(300));
  const JobId runs = job("bob", test::shape());
  start(done);
  start(runs, 0, {1});
  pass(hour);
  end(done);
  Meter again;
  const auto read_back = read(bytes(), again);
  ASSERT_TRUE(read_back.has_value()) << read_back.error().text();
  Meter::Question question = all();
  question.by_job = question.by_model = true;
  EXPECT_EQ(again.report(question), meter_.report(question));
  pass(hour);
  meter_ = again;  // The one that was read hears the rest.
  end(runs);
  question = all();
  question.wanted = [](const std::string& user, const std::string&) { return user == "bob"; };
  const Used of_bob = total(question);
  EXPECT_EQ(of_bob.device_permille_s, 1000 * 7200 + 2);
  EXPECT_EQ(of_bob.jobs, 1);
}

TEST_F(MeterTest, ACheckpointFromBeforeThereWasAMeterIsAnEmptyOne) {
  std::string old;
  CheckpointWriter writer(state_, [&](std::string_view piece) { old += piece; });
  writer.finish();
  Meter meter;
  EXPECT_TRUE(read(old, meter).has_value());
  EXPECT_TRUE(meter.report(all()).empty());
  const JobId id = job("ana", test::shape());
  start(id);
  std::swap(meter_, meter);  // This one has not heard of the start.
  end(id);
  EXPECT_TRUE(meter_.report(all()).empty());
}

TEST_F(MeterTest, DamageIsSurvived) {
  start(job("ana", share(300)));
  const std::string whole = bytes();
  std::string without;
  CheckpointWriter writer(state_, [&](std::string_view piece) { without += piece; });
  writer.finish();
  for (std::size_t size = without.size(); size < whole.size(); ++size) {
    Meter meter;
    EXPECT_FALSE(read(whole.substr(0, size), meter).has_value()) << size;
  }
  for (std::size_t bit = (without.size() - 8) * 8; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    Meter meter;
    if (read(damaged, meter)) {
      EXPECT_LE(meter.report(all()).size(), 1U);
    }
  }
}

TEST_F(MeterTest, OldDaysAreForgotten) {
  const JobId id = job("ana", test::shape());
  start(id);
  pass(hour);
  end(id);
  pass({day.us * (Meter::days_kept - 1)});
  const JobId runs = job("bob", test::shape());
  start(runs);
  EXPECT_EQ(total(all()).jobs, 2);
  pass({day.us * (Meter::days_kept + 10)});
  const std::int64_t kept = total(all()).device_permille_s;
  EXPECT_GT(kept, std::int64_t{1000} * 86'400 * (Meter::days_kept - 1));
  EXPECT_LE(kept, std::int64_t{1000} * 86'400 * Meter::days_kept);
  end(runs);
  EXPECT_EQ(total(all()).device_permille_s, kept + 1) << "the same, now that it has ended";
  EXPECT_EQ(total(all()).jobs, 0);
}

TEST_F(MeterTest, SumsStayAtTheLargestNumber) {
  Holding holding{.task = {JobId(1), 0}, .spec = std::make_shared<const JobSpec>()};
  holding.memory_mib = std::int64_t{1} << 40;
  holding.parts.emplace_back();
  meter_.apply(now_, {}, {&holding, 1});
  pass({day.us * 300});
  EXPECT_EQ(total(all()).memory_mib_s, std::numeric_limits<std::int64_t>::max());
}

}  // namespace tutti::meter_test
