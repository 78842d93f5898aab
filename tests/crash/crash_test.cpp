/// The whole loop of a server in simulated time, ended at every single step: before and after each
/// wait for the disk, each order to the backend, and each answer. What is durable, the tasks that
/// run, and clients who ask again outlive it. Nothing that was acknowledged is lost, nothing is
/// done twice, and nothing is left over.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/job_table.h"
#include "api/request_keys.h"
#include "engine/turns.h"
#include "policy/registry.h"
#include "sched/test_fleet.h"
#include "sim/checkers.h"
#include "sim/world.h"

namespace tutti::crash_test {

/// The process is gone.
struct Crash {};

/// Counts what a process does; it ends at those steps.
class Steps {
 public:
  explicit Steps(std::set<std::uint64_t> ends) : ends_(std::move(ends)) {}
  void step() {
    if (ends_.contains(++count_)) throw Crash{};
  }
  std::uint64_t count() const { return count_; }

 private:
  std::set<std::uint64_t> ends_;
  std::uint64_t count_ = 0;
};

/// What a disk keeps.
class Disk final : public Journal {
 public:
  struct Batch {
    std::vector<Event> events;
    Instant at;
  };
  explicit Disk(Steps& steps) : steps_(steps) {}

  Result<void> append(std::span<const Event> events, Instant at) override {
    steps_.step();  // Nothing of it is there ...
    if (!events.empty()) batches_.push_back({{events.begin(), events.end()}, at});
    steps_.step();  // ... or all of it, and nobody knows.
    return {};
  }
  const std::vector<Batch>& batches() const { return batches_; }

 private:
  Steps& steps_;
  std::vector<Batch> batches_;
};

/// Orders reach the backend one by one.
class Orders final : public Backend {
 public:
  Orders(Backend& backend, Steps& steps) : backend_(backend), steps_(steps) {}
  void execute(const Action& action, const State& state) override {
    steps_.step();
    backend_.execute(action, state);
    steps_.step();
  }
  std::vector<Observed> observe() override { return backend_.observe(); }

 private:
  Backend& backend_;
  Steps& steps_;
};

/// Sends a job until it is acknowledged, and may cancel it later.
struct Client {
  std::string key;
  std::shared_ptr<const JobSpec> spec;
  Instant submits;
  std::optional<Instant> cancels;
  std::optional<JobId> id;  ///< Once he was told.
  bool cancelled = false;   ///< He was told.
  bool waits = false;       ///< For an answer.

  std::optional<Instant> next() const {
    if (waits) return std::nullopt;
    if (!id) return submits;
    return cancelled ? std::nullopt : cancels;
  }
};

/// What lies in a process, and is gone with it.
class Process {
 public:
  Process(Disk& disk, Backend& backend, Turns::Ports ports, Steps& steps)
      : steps_(steps), engine_(disk, backend, factory_), turns_(with_own(std::move(ports))) {
    State state;
    JournalRow row = 0;
    for (const Disk::Batch& batch : disk.batches()) {
      for (const Event& event : batch.events) {
        ++row;
        if (!state.admissible(event)) continue;
        state.apply(event, batch.at);
        happenings_.happened(row, event, state);
      }
    }
    engine_.resume(std::move(state), row);
    read();
    engine_.follow(&happenings_);
    engine_.reconcile();
  }

  /// One turn; the readers' thread does at once what it is given, or at the end.
  void turn(std::vector<Letter> letters, bool readers_are_quick) {
    quick_ = readers_are_quick;
    const auto taken = turns_.take(std::move(letters));
    ASSERT_TRUE(taken.has_value());
    if (*taken) {
      ASSERT_TRUE(turns_.decide(**taken).has_value());
    }
    run_readers();
  }

  JobId next_id() {
    next_id_ = std::max(next_id_, jobs_.next_id().value());
    return JobId(next_id_++);
  }
  const JobTable& jobs() const { return jobs_; }
  const RequestKeys& requests() const { return requests_; }
  const State& state() const { return engine_.state(); }

 private:
  Turns::Ports with_own(Turns::Ports ports) {
    ports.engine = &engine_;
    ports.post = [this](Work work) {
      posted_.push_back(std::move(work));
      if (quick_) run_readers();
    };
    ports.publish = [this, post = ports.post] {
      post([this, happened = happenings_.take()] { read(happened); });
    };
    return ports;
  }
  void read() { read(happenings_.take()); }
  void read(const std::vector<Happening>& happened) {
    for (const Happening& each : happened) {
      jobs_.apply(each);
      requests_.apply(each);
    }
  }
  void run_readers() {
    for (; !posted_.empty(); posted_.pop_front()) {
      steps_.step();
      posted_.front()();
    }
  }

  Steps& steps_;
  RecipeFactory factory_{{.name = "pack", .scores = {{.name = "pack"}}}};
  Happenings happenings_;
  Engine engine_;
  Turns turns_;
  JobTable jobs_;
  RequestKeys requests_;
  std::deque<Work> posted_;
  bool quick_ = false;
  std::uint64_t next_id_ = 1;
};

/// A seed's clients and machines, and the server among them.
class World {
 public:
  World(std::uint64_t seed, std::set<std::uint64_t> ends)
      : steps_(std::move(ends)), faults_(seed), prng_(seed, 5), keeps_reports_(seed % 2 == 0) {
    faults_.heal();
    for (std::uint64_t number = 0; number < 10; ++number) clients_.push_back(draw(number));
  }

  /// Until nothing happens any more.
  void run() {
    while (!testing::Test::HasFatalFailure()) {
      try {
        if (process_ == nullptr) begin();
        const std::optional<Instant> next = next_instant();
        if (!next) return;
        now_ = std::max(now_, *next);
        turn();
      } catch (const Crash&) {
        end();
      }
    }
  }

  std::uint64_t steps() const { return steps_.count(); }
  void check() const;

 private:
  Client draw(std::uint64_t number) {
    const std::uint32_t tasks = prng_.chance(300) ? 2 : 1;
    const RoleSpec role{.name = "task",
                        .count = tasks,
                        .min = tasks,
                        .alternatives = {test::task(1, prng_.chance(500) ? 8 : 2)}};
    JobSpec spec{.name = "job" + std::to_string(number), .user = "ana"};
    spec.gangs = {std::make_shared<const GangSpec>(GangSpec{.groups = {{.roles = {role}}}})};
    if (prng_.chance(300)) spec.rules.retries = 1;
    if (prng_.chance(200)) spec.rules.run_time_max = Duration::seconds(40);
    Client client{.key = "k" + std::to_string(number) + " ana",
                  .spec = std::make_shared<const JobSpec>(std::move(spec)),
                  .submits = Instant{} + Duration::seconds(1 + prng_.below(30)),
                  .cancels = {},
                  .id = {}};
    if (prng_.chance(300)) client.cancels = client.submits + Duration::seconds(prng_.below(60));
    return client;
  }

  void begin() {
    backend_.set_now(now_);
    Turns::Ports ports;
    ports.take_reports = [this] {
      while (!queue_.empty() && queue_.next_at() <= now_) heard_.push_back(queue_.take());
      return heard_;
    };
    ports.keep_reports = [this](std::span<const Event>) { heard_.clear(); };
    ports.clock = [this] { return now_; };
    process_ = std::make_unique<Process>(disk_, orders_, std::move(ports), steps_);
    for (const Client& client : clients_) {
      if (!client.id) continue;
      ASSERT_NE(process_->jobs().find(*client.id), nullptr) << "an acknowledged job is lost";
    }
    began_ = true;
  }

  void end() {
    process_.reset();
    now_ = now_ + Duration::seconds(1);
    for (Client& client : clients_) client.waits = false;
    // A backend tells anew what was not acknowledged; or it is asked (Engine::reconcile).
    if (keeps_reports_) {
      for (const Event& event : heard_) queue_.send(now_, event);
    }
    heard_.clear();
  }

  std::optional<Instant> next_instant() const {
    std::optional<Instant> next;
    const auto consider = [&](std::optional<Instant> at) {
      if (at && (!next || *at < *next)) next = at;
    };
    if (began_) consider(now_);
    if (!queue_.empty()) consider(queue_.next_at());
    consider(process_->state().timers().next());
    for (const Client& client : clients_) consider(client.next());
    return next;
  }

  void turn() {
    backend_.set_now(now_);
    std::vector<Letter> letters;
    if (std::exchange(began_, false)) {
      letters.push_back({.events = {NodeReported{test::node("n0")}, NodeReported{test::node("n1")}},
                         .done = {},
                         .question = {}});
    }
    for (Client& client : clients_) {
      const auto next = client.next();
      if (next && *next <= now_) ask(client, letters);
    }
    process_->turn(std::move(letters), prng_.chance(500));
    const std::string wrong =
        check_invariants(process_->state(), {.jobs_alive = process_->state().live_jobs()});
    ASSERT_EQ(wrong, "");
    ASSERT_EQ(backend_.attempts().violation(), "");
  }

  void ask(Client& client, std::vector<Letter>& letters) {
    client.waits = true;
    if (client.id) {
      letters.push_back({.events = {JobCancelled{*client.id}},
                         .done =
                             [&client](const Answers& answers) {
                               client.waits = false;
                               // One that ended meanwhile cannot be cancelled, and that is known.
                               client.cancelled = true;
                               (void)answers;
                             },
                         .question = {}});
      return;
    }
    const RequestKey key{client.key, 1};
    if (const RequestKeys::Known* const known = process_->requests().find(client.key)) {
      client.id = known->jobs.front();
      client.waits = false;
      return;
    }
    const JobId id = process_->next_id();
    letters.push_back({.events = {JobSubmitted{id, client.spec, key.text()}},
                       .done =
                           [&client, id](const Answers& answers) {
                             ASSERT_TRUE(answers.front().has_value());
                             client.waits = false;
                             client.id = id;
                           },
                       .question = {}});
  }

  Steps steps_;
  Faults faults_;
  EventQueue queue_;
  SimBackend backend_{queue_, faults_};
  Disk disk_{steps_};
  Orders orders_{backend_, steps_};
  Prng prng_;
  bool keeps_reports_;
  bool began_ = false;        ///< The first turn of a process is due.
  std::vector<Event> heard_;  ///< Reports that nobody acknowledged yet.
  std::vector<Client> clients_;
  Instant now_;
  std::unique_ptr<Process> process_;
};

void World::check() const {
  ASSERT_NE(process_, nullptr);
  std::map<std::string, unsigned> submitted;
  for (const Disk::Batch& batch : disk_.batches()) {
    for (const Event& event : batch.events) {
      const auto* const job = std::get_if<JobSubmitted>(&event);
      if (job != nullptr) ++submitted[job->request];
    }
  }
  for (const Client& client : clients_) {
    ASSERT_TRUE(client.id.has_value()) << client.key;
    EXPECT_EQ(submitted[(RequestKey{client.key, 1}.text())], 1U) << client.key;
    const JobRow* const row = process_->jobs().find(*client.id);
    ASSERT_NE(row, nullptr) << client.key;
    EXPECT_TRUE(ended(row->state)) << client.key << " " << to_text(row->state);
    EXPECT_EQ(row->spec->name, client.spec->name);
    for (const TaskRow& task : row->tasks) {
      // Once for itself, and once more for each retry: never for a crash.
      EXPECT_LE(task.attempt, 1 + client.spec->rules.retries) << client.key;
    }
  }
  EXPECT_FALSE(backend_.attempts().any_current(now_)) << "something still runs";
  EXPECT_EQ(process_->state().live_jobs(), 0U);
}

TEST(CrashTest, AnyStepMayBeTheLast) {
  const char* const more = std::getenv("TUTTI_CRASH_SEEDS");
  const std::uint64_t seeds = more == nullptr ? 2 : std::strtoull(more, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    World whole(seed, {});
    whole.run();
    whole.check();
    ASSERT_GT(whole.steps(), 100U);
    Prng prng(seed, 6);
    for (std::uint64_t step = 1; step <= whole.steps(); ++step) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
      // Often once more, shortly after: while it recovers.
      World world(seed, {step, step + 1 + prng.below(30)});
      world.run();
      world.check();
      if (HasFailure()) return;
    }
  }
}

}  // namespace tutti::crash_test
