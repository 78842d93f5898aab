#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>

#include "bench/case.h"

#ifdef TUTTI_CALLGRIND
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT
#endif

namespace tutti::bench {
namespace {

/// Every file of this folder.
std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto some : {base_cases(), gang_cases(), place_cases(), sim_cases()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::string full_name(const Case& one, std::int64_t size) {
  return std::string(one.name) + "/" + std::to_string(size);
}

/// The work of the case "name/size", or nothing.
Body prepare(std::string_view wanted) {
  for (const Case& one : all_cases()) {
    for (const std::int64_t size : one.sizes) {
      if (full_name(one, size) == wanted) return one.prepare(size);
    }
  }
  return {};
}

/// Runs one case under `valgrind --tool=callgrind --collect-atstart=no`: a first call warms caches
/// and lazy set-up, the second one is counted. tools/instructions.py reads the number.
int count(std::string_view wanted) {
  const Body body = prepare(wanted);
  if (!body) {
    std::fprintf(stderr, "error: no benchmark is called \"%.*s\"\n",
                 static_cast<int>(wanted.size()), wanted.data());
    return 1;
  }
  benchmark::DoNotOptimize(body());
  CALLGRIND_TOGGLE_COLLECT;
  const std::uint64_t kept = body();
  CALLGRIND_TOGGLE_COLLECT;
  benchmark::DoNotOptimize(kept);
  return 0;
}

void measure(benchmark::State& state, const Case& one, std::int64_t size) {
  const Body body = one.prepare(size);
  for (auto _ : state) benchmark::DoNotOptimize(body());
}

int measure_all(int argc, char** argv) {
  for (const Case& one : all_cases()) {
    for (const std::int64_t size : one.sizes) {
      benchmark::RegisterBenchmark(
          full_name(one, size).c_str(),
          [one, size](benchmark::State& state) { measure(state, one, size); });
    }
  }
  register_memory();  // First, because it reports the most that the process ever held.
  register_gangs();
  register_net();
  register_place();
  register_sim();
  register_start();
  register_store();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--count") return tutti::bench::count(argv[2]);
  return tutti::bench::measure_all(argc, argv);
}
