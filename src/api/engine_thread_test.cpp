#include "api/engine_thread.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sched/test_fleet.h"

namespace tutti::engine_thread_test {

/// The readers' thread is the test's: it runs what was posted while it waits.
class Readers {
 public:
  void post(EngineThread::Work work) {
    const std::scoped_lock lock(mutex_);
    posted_.push_back(std::move(work));
    there_.notify_one();
  }
  /// Runs what comes until `done` holds; false after ten seconds.
  bool run_until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done()) {
      std::unique_lock lock(mutex_);
      if (!there_.wait_until(lock, deadline, [&] { return !posted_.empty(); })) return false;
      EngineThread::Work work = std::move(posted_.front());
      posted_.pop_front();
      lock.unlock();
      work();
    }
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable there_;
  std::deque<EngineThread::Work> posted_;
};

/// Holds each append until it is let through, as a slow disk does.
class SlowJournal final : public Journal {
 public:
  Result<void> append(std::span<const Event> events, Instant) override {
    std::unique_lock lock(mutex_);
    waiting_ = true;
    there_.notify_all();
    there_.wait(lock, [&] { return open_; });
    waiting_ = false;
    appends.push_back(events.size());
    if (fails) return fail(Code::io, "the disk is full");
    return {};
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    open_ = false;
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    there_.notify_all();
  }
  void await_append() {
    std::unique_lock lock(mutex_);
    there_.wait(lock, [&] { return waiting_; });
  }

  std::vector<std::size_t> appends;
  std::atomic<bool> fails = false;

 private:
  std::mutex mutex_;
  std::condition_variable there_;
  bool open_ = true;
  bool waiting_ = false;
};

class Orders final : public Backend {
 public:
  void execute(const Action& action, const State&) override { given.push_back(action); }
  std::vector<Observed> observe() override { return {}; }
  std::vector<Action> given;
};

class EngineThreadTest : public testing::Test {
 protected:
  EngineThreadTest() : factory_({.name = "pack", .scores = {{.name = "pack"}}}) {
    reports_ready_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    EngineThread::Ports ports;
    ports.engine = &engine_;
    ports.post = [this](EngineThread::Work work) { readers_.post(std::move(work)); };
    ports.publish = [this](const std::vector<Happening>& happened) {
      for (const Happening& each : happened) heard_.emplace_back(name_of(*each.event));
    };
    ports.reports_ready = reports_ready_;
    ports.take_reports = [this] {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto read = ::read(reports_ready_, &count, sizeof count);
      const std::scoped_lock lock(mutex_);
      return std::exchange(reports_, {});
    };
    ports.keep_reports = [this](std::span<const Event> events) {
      kept_ += static_cast<int>(events.size());
    };
    ports.clock = [this] { return Instant{now_ += 1000}; };
    ports.failed = [this](const Error& error) { failure_ = error.what; };
    thread_.emplace(std::move(ports));
  }
  ~EngineThreadTest() override {
    thread_.reset();
    ::close(reports_ready_);
  }

  /// Sends, and waits for the answers.
  EngineThread::Answers send(std::vector<Event> events) {
    std::optional<EngineThread::Answers> answers;
    thread_->send(std::move(events),
                  [&](EngineThread::Answers given) { answers = std::move(given); });
    EXPECT_TRUE(readers_.run_until([&] { return answers.has_value(); }));
    return answers.value_or(EngineThread::Answers{});
  }
  static Event submission(std::uint64_t id, JobRules rules = {}) {
    auto spec = std::make_shared<JobSpec>(*test::job(test::task(1000, 1)));
    spec->rules = std::move(rules);
    return JobSubmitted{JobId(id), std::move(spec)};
  }

  SlowJournal journal_;
  Orders backend_;
  RecipeFactory factory_;
  Engine engine_{journal_, backend_, factory_};
  Readers readers_;
  int reports_ready_ = -1;
  std::mutex mutex_;
  std::vector<Event> reports_;
  std::atomic<int> kept_ = 0;
  std::int64_t now_ = 0;
  std::vector<std::string> heard_;
  std::string failure_;
  std::optional<EngineThread> thread_;
};

TEST_F(EngineThreadTest, AnswersEachEventAndTellsWhatHappenedBefore) {
  const auto answers = send({NodeReported{test::node("n0")}, submission(1), submission(1)});
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_TRUE(answers[0].has_value());
  EXPECT_TRUE(answers[1].has_value());
  ASSERT_FALSE(answers[2].has_value());
  EXPECT_EQ(answers[2].error().what, "job 1 exists already");
  EXPECT_EQ(heard_, (std::vector<std::string>{"node_reported", "job_submitted"}));
  EXPECT_TRUE(readers_.run_until([&] { return heard_.size() == 3; }));
  EXPECT_EQ(heard_.back(), "plan_decided");
}

TEST_F(EngineThreadTest, WhatIsSentTogetherIsTakenTogether) {
  JobSpec lost = *test::job(test::task(1000, 1));
  lost.queue = "nosuch";
  const auto answers =
      send({submission(1), JobSubmitted{JobId(2), std::make_shared<JobSpec>(lost)}});
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].error().what, "another one of them was refused");
  EXPECT_EQ(answers[1].error().what, "job \"job\": no queue \"nosuch\"");
  EXPECT_TRUE(heard_.empty());
  EXPECT_TRUE(journal_.appends.empty());
}

TEST_F(EngineThreadTest, WhatIsSentForItselfIsTakenForItself) {
  JobSpec lost = *test::job(test::task(1000, 1));
  lost.queue = "nosuch";
  const auto bad = [&](std::uint64_t id) {
    return JobSubmitted{JobId(id), std::make_shared<JobSpec>(lost)};
  };
  std::optional<EngineThread::Answers> got;
  const auto keep = [&](EngineThread::Answers answers) { got = std::move(answers); };
  // The third exists by the time that it is looked at in the journal's order.
  thread_->send_each({bad(1), submission(2), submission(2), bad(3), submission(4)}, keep);
  ASSERT_TRUE(readers_.run_until([&] { return got.has_value(); }));
  std::string good;
  for (const auto& answer : *got) good += answer ? '+' : '-';
  EXPECT_EQ(good, "-+--+");
  EXPECT_EQ((*got)[3].error().what, "job \"job\": no queue \"nosuch\"");
  got.reset();
  thread_->send_each({bad(5), bad(6)}, keep);
  ASSERT_TRUE(readers_.run_until([&] { return got.has_value(); }));
  EXPECT_EQ(got->size(), 2U);
}

TEST_F(EngineThreadTest, WhoComesWhileTheDiskWorksSharesTheNextAppend) {
  send({NodeReported{test::node("n0")}});
  journal_.close();
  int answered = 0;
  const auto count = [&](const EngineThread::Answers&) { ++answered; };
  thread_->send({submission(1)}, count);
  journal_.await_append();
  for (std::uint64_t job = 2; job <= 6; ++job) thread_->send({submission(job)}, count);
  journal_.open();
  ASSERT_TRUE(readers_.run_until([&] { return answered == 6; }));
  thread_.reset();
  // The node; job 1 and its plan; the five others, and their plan.
  EXPECT_EQ(journal_.appends, (std::vector<std::size_t>{1, 1, 1, 5, 1}));
  EXPECT_EQ(backend_.given.size(), 6U);
}

TEST_F(EngineThreadTest, QuestionsSeeStateBetweenTwoTurns) {
  send({NodeReported{test::node("n0")}, submission(1)});
  std::uint64_t live = 0;
  thread_->ask([&](const State& state) -> EngineThread::Work {
    return [&live, jobs = state.live_jobs()] { live = jobs; };
  });
  EXPECT_TRUE(readers_.run_until([&] { return live == 1; }));
}

TEST_F(EngineThreadTest, ReportsWakeItAndAreKeptBeforeTheyAreForgotten) {
  send({NodeReported{test::node("n0")}, submission(1)});
  {
    const std::scoped_lock lock(mutex_);
    reports_ = {TaskStarted{{JobId(1), 0}, 1}};
  }
  const std::uint64_t one = 1;
  ASSERT_EQ(::write(reports_ready_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  EXPECT_TRUE(readers_.run_until([&] { return heard_.back() == "task_started"; }));
  EXPECT_EQ(kept_, 1);
}

TEST_F(EngineThreadTest, TimersWakeIt) {
  send({NodeReported{test::node("n0")}, submission(1, {.retries = 1, .pause = Duration{20'000}})});
  ASSERT_TRUE(readers_.run_until([&] { return heard_.back() == "plan_decided"; }));
  {
    const std::scoped_lock lock(mutex_);
    reports_ = {TaskStarted{{JobId(1), 0}, 1}, TaskExited{{JobId(1), 0}, 1, 7}};
  }
  const std::uint64_t one = 1;
  ASSERT_EQ(::write(reports_ready_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  ASSERT_TRUE(readers_.run_until([&] { return heard_.back() == "task_exited"; }));
  ASSERT_TRUE(readers_.run_until([&] { return heard_.back() == "plan_decided"; }));
  EXPECT_EQ(heard_[heard_.size() - 2], "time_passed");
}

TEST_F(EngineThreadTest, AJournalThatFailsIsTheEnd) {
  send({NodeReported{test::node("n0")}});
  journal_.fails = true;
  bool answered = false;
  thread_->send({submission(1)}, [&](const EngineThread::Answers&) { answered = true; });
  EXPECT_TRUE(readers_.run_until([&] { return !failure_.empty(); }));
  EXPECT_EQ(failure_, "the disk is full");
  EXPECT_FALSE(answered);  // Nobody may rely on it.
}

TEST_F(EngineThreadTest, WhatWasSentIsFinishedBeforeItEnds) {
  std::vector<std::uint64_t> answered;
  for (std::uint64_t job = 1; job <= 3; ++job) {
    thread_->send({submission(job)},
                  [&answered, job](const EngineThread::Answers&) { answered.push_back(job); });
  }
  thread_.reset();
  EXPECT_TRUE(readers_.run_until([&] { return answered.size() == 3; }));
  EXPECT_EQ(answered, (std::vector<std::uint64_t>{1, 2, 3}));
}

}  // namespace tutti::engine_thread_test
