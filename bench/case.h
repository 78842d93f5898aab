/// One benchmark, measured in time (Google Benchmark) or in instructions (callgrind); main.cpp.
///
/// A case must do the same work each time: the input comes from a fixed seed and `body` may be
/// called any number of times.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace tutti::bench {

/// The measured work. What it returns is kept alive, so that the compiler cannot drop the work.
using Body = std::function<std::uint64_t()>;

struct Case {
  std::string_view name;
  std::vector<std::int64_t> sizes;            ///< One benchmark each, called "name/size".
  std::function<Body(std::int64_t)> prepare;  ///< Builds the input of a size; not measured.
};

/// One function per file of this folder, listed in main.cpp.
std::span<const Case> base_cases();
std::span<const Case> gang_cases();
std::span<const Case> place_cases();
std::span<const Case> sim_cases();

/// Benchmarks that time their own steps and report more than a mean.
void register_gangs();
void register_memory();
void register_net();
void register_place();
void register_sim();
void register_start();
void register_store();

}  // namespace tutti::bench
