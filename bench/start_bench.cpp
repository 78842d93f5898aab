/// A server's start: `start_1m`, a checkpoint of 1 M jobs, 100 000 of them live, and 1 M events
/// behind it; `start_memory`, what 100 000 live jobs take once they were read.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "apps/tutti/shown.h"
#include "base/check.h"
#include "bench/case.h"
#include "store/restore.h"

namespace tutti::bench {
namespace {

constexpr std::uint32_t nodes = 1000;
constexpr std::uint32_t cards = 8;

/// Jobs as people submit them: each with a name, a command and variables of its own.
std::shared_ptr<const JobSpec> job_spec(std::uint64_t number) {
  const std::string id = std::to_string(number);
  TaskShape shape{.resources = {{"cpu", 1000}, {"memory", std::int64_t{4} << 30U}}};
  shape.devices = {{.where = {}, .count = static_cast<std::uint16_t>(number % 3 == 0 ? 2 : 1)}};
  RoleSpec role{.name = "main", .alternatives = {std::move(shape)}};
  role.launch = {.command = {"python3", "train.py", "--config", "configs/model.yaml", "--run", id},
                 .directory = "/data/project",
                 .output = {},
                 .environment = id};
  JobSpec spec{.name = "train-model-" + id, .user = "ana"};
  spec.gangs = {std::make_shared<const GangSpec>(GangSpec{.groups = {{.roles = {role}}}})};
  return std::make_shared<const JobSpec>(std::move(spec));
}

/// A run in which jobs come, run on one of the cards, and end, so that `waiting` are left.
class Run {
 public:
  /// Applied to the State, and heard by whoever follows.
  Event next(State& state, Follower* follower) {
    Event event = make(state);
    at_ = at_ + Duration::milliseconds(10);
    state.apply(event, at_);
    if (follower != nullptr) follower->happened(++row_, event, state);
    return event;
  }
  Event submit(State& state, Follower* follower) {
    Event event = JobSubmitted{JobId(++jobs_), job_spec(jobs_)};
    state.apply(event, at_);
    if (follower != nullptr) follower->happened(++row_, event, state);
    return event;
  }
  std::uint64_t jobs() const { return jobs_; }
  Instant at() const { return at_; }

 private:
  Event make(const State& state) {
    if (state.fleet().size() < nodes) {
      NodeSpec node{.name = "node-" + std::to_string(state.fleet().size()),
                    .capacity = {{"cpu", 128'000}, {"memory", std::int64_t{1} << 40U}}};
      node.devices.assign(
          cards,
          {.type = {.model = "A100-80G", .vendor = "nvidia", .memory_mib = 81'920}, .device = {}});
      return NodeReported{std::move(node)};
    }
    const std::uint64_t job = first_ + count_ / 4;
    const TaskId task{JobId(job), 0};
    const std::uint64_t place = job % (nodes * cards / 2);
    switch (count_++ % 4) {
      case 0:
        return JobSubmitted{JobId(++jobs_), job_spec(jobs_)};
      case 1: {
        Action action{.task = task,
                      .attempt = 1,
                      .shape = state.tasks()[state.find(task)].shape,
                      .node = NodeIndex(place / (cards / 2))};
        action.devices.add(static_cast<unsigned>(place % (cards / 2) * 2));
        if (job % 3 == 0) action.devices.add(static_cast<unsigned>(place % (cards / 2) * 2 + 1));
        return PlanDecided{{action}};
      }
      case 2:
        return TaskStarted{task, 1};
      default:
        return TaskExited{task, 1, 0};
    }
  }

  std::uint64_t first_ = 1;
  std::uint64_t count_ = 0;
  std::uint64_t jobs_ = 0;
  JournalRow row_ = 0;
  Instant at_;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Of all threads.
double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double resident_mb() {
  ::malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

/// A data folder whose checkpoint stands at row 1 of its journal, with `events` behind it.
class Place {
 public:
  Place(std::uint64_t live, std::uint64_t ended, std::uint64_t events) {
    std::string name = std::filesystem::temp_directory_path() / "tutti-bench-XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    CHECK(checkpoints().make().has_value());
    State state;
    Shown shown({.ended = Duration::seconds(1'000'000), .most = 2'000'000});
    Run run;
    for (std::uint64_t count = 0; count < live; ++count) run.submit(state, &shown);
    while (run.jobs() < live + ended) run.next(state, &shown);
    const auto journal = JournalFile::open(path()).value();
    CHECK(journal->append(std::vector<Event>{QueueSet{{.name = "default"}}}, run.at()).has_value());
    write(*journal, state, shown);
    std::vector<Event> batch;
    while (journal->rows() <= events) {
      batch.clear();
      while (batch.size() < 10'000) batch.push_back(run.next(state, nullptr));
      CHECK(journal->append(batch, run.at()).has_value());
    }
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/journal.db"; }
  CheckpointFolder checkpoints() const { return CheckpointFolder(folder_ + "/checkpoints"); }

 private:
  void write(JournalFile& journal, const State& state, const Shown& shown) const {
    auto draft = CheckpointFile::Draft::begin(checkpoints().path_of(1)).value();
    CheckpointWriter writer(state, [&](std::string_view piece) { draft.add(piece); });
    shown.write(writer);
    writer.finish();
    CHECK(draft
              .complete({.row = 1,
                         .hash = journal.hash_at(1).value(),
                         .state_hash = state.hash(),
                         .at = state.now()})
              .has_value());
    CHECK(draft.publish().has_value());
  }

  std::string folder_;
};

void measure_start(benchmark::State& bench, std::uint64_t live, std::uint64_t ended,
                   std::uint64_t events) {
  const Place place(live, ended, events);
  const double before = resident_mb();
  for (auto _ : bench) {
    const auto begin = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds();
    const auto journal = JournalFile::open(place.path()).value();
    Shown shown({.ended = Duration::seconds(1'000'000), .most = 2'000'000});
    Restored early = restore(*journal, place.checkpoints(), shown, 1).value();
    bench.counters["checkpoint_s"] = seconds_since(begin);
    bench.counters["checkpoint_cpu_s"] = cpu_seconds() - cpu;
    CHECK(early.from == 1 && shown.jobs.size() == live + ended);
    bench.counters["memory_mb"] = resident_mb() - before;
    if (events == 0) continue;
    early = {};
    shown.clear();
    const auto again = std::chrono::steady_clock::now();
    const double cpu_again = cpu_seconds();
    const Restored all = restore(*journal, place.checkpoints(), shown, journal->rows()).value();
    CHECK(all.from == 1 && all.state.live_jobs() >= live);
    bench.counters["start_s"] = seconds_since(again);
    bench.counters["start_cpu_s"] = cpu_seconds() - cpu_again;
  }
  bench.counters["checkpoint_mb"] =
      static_cast<double>(std::filesystem::file_size(place.checkpoints().path_of(1))) / 1e6;
}

}  // namespace

void register_start() {
  benchmark::RegisterBenchmark("start_memory",
                               [](benchmark::State& bench) { measure_start(bench, 100'000, 0, 0); })
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark(
      "start_1m",
      [](benchmark::State& bench) { measure_start(bench, 100'000, 900'000, 1'000'000); })
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

}  // namespace tutti::bench
