/// The journal on disk: `store_append/N`, events made durable a second in appends of N, beside what
/// the disk can do at best; and `store_replay`, `store_restore`, rows read back a second at a
/// start.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>

#include "base/check.h"
#include "bench/case.h"
#include "bench/openb_fleet.h"
#include "store/restore.h"

namespace tutti::bench {
namespace {

/// A journal of its own under the folder for temporary files, which has to be on the disk in
/// question: TMPDIR chooses another one.
class Place {
 public:
  Place() {
    std::string name = std::filesystem::temp_directory_path() / "tutti-bench-XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  std::unique_ptr<JournalFile> journal() const {
    auto opened = JournalFile::open(file("journal.db"));
    CHECK(opened.has_value(), opened.error().text());
    return *std::move(opened);
  }

 private:
  std::string folder_;
};

/// A run as the engine journals it: a node in which every task finds room, then jobs one after the
/// other, each submitted, placed, started and ended.
class Run {
 public:
  Event next() {
    Event event = make();
    state_.apply(event, Instant{});
    return event;
  }

 private:
  Event make() {
    if (state_.fleet().size() == 0) {
      NodeSpec node = openb_node(0, 1);
      for (NamedAmount& part : node.capacity) part.amount = limits::amount;
      return NodeReported{std::move(node)};
    }
    const TaskId task{JobId(1 + count_ / 4), 0};
    switch (count_++ % 4) {
      case 0:
        return JobSubmitted{task.job, tasks_.draw(prng_)};
      case 1:
        return PlanDecided{{Action{.task = task,
                                   .attempt = 1,
                                   .shape = state_.tasks()[state_.find(task)].shape,
                                   .node = NodeIndex(0)}}};
      case 2:
        return TaskStarted{task, 1};
      default:
        return TaskExited{task, 1, 0};
    }
  }

  OpenbTasks tasks_;
  Prng prng_{42};
  State state_;
  std::uint64_t count_ = 0;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// How often a second the disk makes 4 KB durable, each behind the one before it: no journal that
/// waits for each append can do more.
double fdatasyncs_per_second(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(file >= 0);
  const std::array<char, 4096> page{};
  const auto begin = std::chrono::steady_clock::now();
  int syncs = 0;
  for (; syncs < 100 || seconds_since(begin) < 1; ++syncs) {
    CHECK(::write(file, page.data(), page.size()) == static_cast<ssize_t>(page.size()));
    CHECK(::fdatasync(file) == 0);
  }
  const double seconds = seconds_since(begin);
  ::close(file);
  return syncs / seconds;
}

void measure_append(benchmark::State& state) {
  const Place place;
  const auto journal = place.journal();
  Run run;
  const auto size = static_cast<std::size_t>(state.range(0));
  std::vector<Event> batch(size);
  const double syncs_before = fdatasyncs_per_second(place.file("probe"));
  for (auto _ : state) {
    for (Event& event : batch) event = run.next();
    const auto begin = std::chrono::steady_clock::now();
    CHECK(journal->append(batch, Instant{}).has_value());
    state.SetIterationTime(seconds_since(begin));
  }
  const double syncs_after = fdatasyncs_per_second(place.file("probe"));
  state.counters["fdatasyncs_per_second"] = (syncs_before + syncs_after) / 2;
  state.counters["events_per_second"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(size),
                         benchmark::Counter::kIsRate);
}

std::unique_ptr<JournalFile> filled(const Place& place, std::uint64_t rows) {
  auto journal = place.journal();
  Run run;
  std::vector<Event> batch(10'000);
  while (journal->rows() < rows) {
    for (Event& event : batch) event = run.next();
    CHECK(journal->append(batch, Instant{}).has_value());
  }
  return journal;
}

void measure_reading(benchmark::State& state, bool into_state) {
  const Place place;
  const auto journal = filled(place, static_cast<std::uint64_t>(state.range(0)));
  for (auto _ : state) {
    if (into_state) {
      const Result<State> restored = restore(*journal);
      CHECK(restored.has_value(), restored.error().text());
    } else {
      CHECK(journal
                ->replay(1,
                         [](std::uint64_t, const Event& event, Instant) {
                           benchmark::DoNotOptimize(&event);
                           return Result<void>{};
                         })
                .has_value());
    }
  }
  state.counters["rows_per_second"] = benchmark::Counter(
      static_cast<double>(state.iterations() * journal->rows()), benchmark::Counter::kIsRate);
  state.counters["bytes_per_row"] =
      static_cast<double>(std::filesystem::file_size(journal->path())) /
      static_cast<double>(journal->rows());
}

}  // namespace

void register_store() {
  benchmark::RegisterBenchmark("store_append", measure_append)
      ->Arg(1)
      ->Arg(64)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
  for (const bool into_state : {false, true}) {
    benchmark::RegisterBenchmark(
        into_state ? "store_restore" : "store_replay",
        [into_state](benchmark::State& state) { measure_reading(state, into_state); })
        ->Arg(1'000'000)
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace tutti::bench
