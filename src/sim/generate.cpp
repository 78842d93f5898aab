#include "sim/generate.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "base/limits.h"
#include "dialect/tutti.h"
#include "format/quantity.h"
#include "format/text.h"

namespace tutti {
namespace {

enum Draws : std::uint64_t { kind_draws = 1, shape_draws = 2, time_draws = 3 };

constexpr std::int64_t length_max_us = std::int64_t{1} << 52;  // 140 years.
constexpr unsigned fraction_bits = 16;
__extension__ using Wide = unsigned __int128;

/// 2^(1/2), 2^(1/4), ... with 60 fraction bits, each the square root of the one before it.
constexpr std::uint64_t root_of(Wide square) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 62; bit != 0; bit >>= 1U) {
    const std::uint64_t next = root | bit;
    if (Wide{next} * next <= square) root = next;
  }
  return root;
}

constexpr std::array<std::uint64_t, fraction_bits> roots_of_two() {
  std::array<std::uint64_t, fraction_bits> roots{};
  std::uint64_t last = std::uint64_t{2} << 60;
  for (std::uint64_t& root : roots) last = root = root_of(Wide{last} << 60U);
  return roots;
}

/// value * 2^(exponent / 2^16), at most length_max_us. REQUIRES: 0 <= value <= length_max_us.
std::int64_t times_power_of_two(std::int64_t value, std::int64_t exponent) {
  constexpr std::array<std::uint64_t, fraction_bits> roots = roots_of_two();
  const std::int64_t whole = exponent >> fraction_bits;  // Rounds down.
  if (whole < -60) return 0;
  if (whole > 60) return value == 0 ? 0 : length_max_us;
  Wide product = static_cast<std::uint64_t>(value);
  for (unsigned bit = 0; bit < fraction_bits; ++bit) {
    if ((exponent >> (fraction_bits - 1 - bit) & 1) != 0) product = product * roots[bit] >> 60U;
  }
  product = whole < 0 ? product >> static_cast<unsigned>(-whole)
                      : product << static_cast<unsigned>(whole);
  return static_cast<std::int64_t>(std::min(product, Wide{length_max_us}));
}

/// -log2(x / 2^32) with 16 fraction bits, by repeated squaring. REQUIRES: x > 0.
std::uint64_t minus_log2(std::uint32_t x) {
  const auto zeros = static_cast<unsigned>(std::countl_zero(x));
  std::uint64_t mantissa = std::uint64_t{x} << zeros;  // In [2^31, 2^32): 1 to 2.
  std::uint64_t log = std::uint64_t{31U - zeros} << fraction_bits;
  for (std::uint64_t bit = 1U << (fraction_bits - 1); bit != 0; bit >>= 1U) {
    mantissa = mantissa * mantissa >> 31U;
    if (mantissa >> 32U == 0) continue;
    mantissa >>= 1U;
    log |= bit;
  }
  return (std::uint64_t{32} << fraction_bits) - log;
}

/// Standard normal in thousandths, as the sum of twelve uniforms: never beyond 6 deviations.
std::int64_t normal_milli(Prng& prng) {
  std::int64_t sum = 0;
  for (int each = 0; each < 12; ++each) sum += prng.below(1001);
  return sum - 6000;
}

Result<std::int64_t> read_time(std::string_view text) {
  const Duration length = TRY(parse_duration(text));
  if (length.us >= 0 && length.us <= length_max_us) return length.us;
  return fail(Code::limit, fmt::format("{} is longer than 140 years", quote(text)));
}

const WeightedWord& pick(const std::vector<WeightedWord>& words, std::uint32_t all, Prng& prng) {
  std::uint32_t left = prng.below(all);
  for (const WeightedWord& word : words) {
    if (left < word.weight) return word;
    left -= word.weight;
  }
  return words.back();
}

Result<std::uint32_t> weight_of(const std::vector<WeightedWord>& words, std::string_view what) {
  std::uint64_t all = 0;
  for (const WeightedWord& word : words) all += word.weight;
  if (all > 0 && all <= 1'000'000'000) return static_cast<std::uint32_t>(all);
  return fail(Code::invalid,
              fmt::format("the weights of {} add up to {}; 1 to 10^9 are possible", what, all));
}

/// May a model be written into YAML as it is?
bool plain_model(std::string_view word) {
  return !word.empty() && word.size() <= limits::name_length &&
         std::ranges::all_of(word, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.' || c == '+' || c == '/';
         });
}

/// Accelerators that a word such as "8xT4", "0.5" or "2" means, in thousandths.
Result<std::int64_t> gpus_milli(std::string_view word) {
  constexpr std::int64_t whole = DeviceRequest::whole;
  const std::size_t cross = word.find('x');
  const std::string_view digits = word.substr(0, cross);
  const Result<std::int64_t> count = parse_fixed(digits, 3);
  const bool of_model = cross != word.npos;
  const bool part = count && *count > 0 && *count < whole && !of_model;
  const bool several = count && *count % whole == 0 && *count <= limits::devices_per_node * whole &&
                       (*count > 0 || digits == "0");
  const bool plain =
      digits.find_first_not_of(of_model ? "0123456789" : "0123456789.") == digits.npos &&
      (!of_model || (digits != "0" && plain_model(word.substr(cross + 1))));
  if (plain && (part || several)) return *count;
  return fail(Code::invalid, fmt::format("{} is no number of GPUs", quote(word)),
              "for example: 0, 0.5, 2 or 8xA100-80G");
}

/// A fleet's word: whole devices of a model, or none.
Result<std::int64_t> devices_of(std::string_view word) {
  if (word == "cpu") return 0;
  const std::int64_t milli = TRY(gpus_milli(word));
  if (milli >= 1000 && milli % 1000 == 0 && word.find('x') != word.npos) return milli / 1000;
  return fail(Code::invalid, fmt::format("{} is no kind of node", quote(word)),
              "for example: 8xA100-80G or cpu");
}

Result<void> check_tasks(const std::vector<WeightedWord>& words) {
  for (const WeightedWord& word : words) {
    const auto count = parse_fixed(word.word, 0);
    if (count && *count >= 1 && *count <= limits::tasks_per_job &&
        word.word.find_first_not_of("0123456789") == word.word.npos) {
      continue;
    }
    return fail(Code::invalid, fmt::format("{} is no number of tasks; 1 to {} are possible",
                                           quote(word.word), limits::tasks_per_job));
  }
  return {};
}

Result<void> check_count(std::string_view what, std::uint32_t count, std::size_t most) {
  if (count >= 1 && count <= most) return {};
  return fail(Code::limit, fmt::format("{} {}; 1 to {} are possible", count, what, most));
}

}  // namespace

Result<Distribution> Distribution::parse(std::string_view text) {
  Distribution out;
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (colon == text.npos) {
    out.low_us_ = TRY(read_time(text));
    return out;
  }
  const std::string_view rest = text.substr(colon + 1);
  if (name == "uniform") {
    const std::size_t dots = rest.find("..");
    if (dots == rest.npos) {
      return fail(Code::invalid, fmt::format("{} is no range", quote(rest)), "uniform:1m..2h");
    }
    out.kind_ = Kind::uniform;
    out.low_us_ = TRY(read_time(rest.substr(0, dots)));
    out.high_us_ = TRY(read_time(rest.substr(dots + 2)));
    if (out.low_us_ <= out.high_us_) return out;
    return fail(Code::invalid, fmt::format("{} is no rising range", quote(rest)));
  }
  if (name == "lognormal") {
    const std::size_t second = rest.find(':');
    out.kind_ = Kind::lognormal;
    out.low_us_ = TRY(read_time(rest.substr(0, second)));
    out.doublings_milli_ = 1000;
    if (second != rest.npos) out.doublings_milli_ = TRY(parse_fixed(rest.substr(second + 1), 3));
    if (out.doublings_milli_ <= 10'000) return out;
    return fail(Code::limit, "a standard deviation is at most 10 doublings");
  }
  if (name == "exponential" || name == "poisson") {
    out.kind_ = Kind::exponential;
    out.low_us_ = TRY(read_time(rest));
    return out;
  }
  constexpr std::array<std::string_view, 3> known{"uniform", "lognormal", "exponential"};
  return fail(Code::invalid, fmt::format("no distribution is called {}", quote(name)),
              did_you_mean(name, known));
}

Duration Distribution::draw(Prng& prng) const {
  constexpr std::int64_t second = 1'000'000;
  std::int64_t us = low_us_;
  if (kind_ == Kind::uniform) {
    const auto room = static_cast<std::uint64_t>(high_us_ - low_us_) + 1;
    us += static_cast<std::int64_t>(Wide{prng.next64()} * room >> 64U);
  } else if (kind_ == Kind::lognormal) {
    const std::int64_t exponent = normal_milli(prng) * doublings_milli_;  // In millionths.
    us = times_power_of_two(low_us_, exponent * (1 << fraction_bits) / 1'000'000);
  } else if (kind_ == Kind::exponential) {
    constexpr std::uint64_t ln2 = 45'426;  // ln 2 with 16 fraction bits.
    const std::uint32_t uniform = std::max<std::uint32_t>(prng.next(), 1);
    const Wide scaled = Wide{static_cast<std::uint64_t>(low_us_)} * minus_log2(uniform) * ln2;
    us = static_cast<std::int64_t>(std::min(scaled >> (2 * fraction_bits), Wide{length_max_us}));
  }
  return {us > second ? (us + second / 2) / second * second : us};
}

Result<WeightedWord> parse_weighted(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  WeightedWord out{std::string(text.substr(0, colon)), 1};
  if (colon != text.npos) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, out.weight);
    if (error != std::errc{} || stop != end) {
      return fail(Code::invalid, fmt::format("{} has no weight behind its colon", quote(text)),
                  "for example: 8xA100-80G:60");
    }
  }
  if (!out.word.empty()) return out;
  return fail(Code::invalid, fmt::format("{} names nothing", quote(text)));
}

Result<std::string> generate_fleet(const FleetPlan& plan) {
  TRY(check_count("nodes", plan.nodes, nodes_per_file));
  const std::uint32_t all = TRY(weight_of(plan.kinds, "nodes"));
  std::vector<std::uint32_t> counts(plan.kinds.size());
  Prng prng(plan.seed, kind_draws);
  for (std::uint32_t node = 0; node < plan.nodes; ++node) {
    ++counts[static_cast<std::size_t>(&pick(plan.kinds, all, prng) - plan.kinds.data())];
  }
  std::string out = "tutti: 1\ntopology: [rack]\nnodes:\n";
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    if (counts[kind] == 0) continue;
    const std::string& word = plan.kinds[kind].word;
    const std::int64_t gpus = TRY(devices_of(word));
    const std::size_t width = std::to_string(counts[kind] - 1).size();
    out += fmt::format("  - name: {}{}-[{:0{}}-{}]\n", word == "cpu" ? "cpu" : "gpu", kind, 0,
                       width, counts[kind] - 1);
    out += fmt::format("    cpu: {}\n    memory: {}Gi\n", std::max<std::int64_t>(16 * gpus, 64),
                       std::max<std::int64_t>(128 * gpus, 256));
    if (gpus > 0) out += fmt::format("    gpus: {}\n", word);
    out += fmt::format("    domains: {{rack: {}}}\n", plan.rack);
  }
  return out;
}

Result<std::string> generate_workload(const WorkloadPlan& plan) {
  TRY(check_count("jobs", plan.jobs, jobs_per_file));
  const std::uint32_t all_gpus = TRY(weight_of(plan.gpus, "--gpus"));
  TRY(check_tasks(plan.tasks));
  const std::uint32_t all_tasks = TRY(weight_of(plan.tasks, "--tasks"));
  const std::size_t width = std::to_string(plan.jobs - 1).size();
  Prng shape(plan.seed, shape_draws);
  Prng time(plan.seed, time_draws);
  Duration at;
  std::string out = "tutti: 1\njobs:\n";
  for (std::uint32_t job = 0; job < plan.jobs; ++job) {
    const std::string& gpus = pick(plan.gpus, all_gpus, shape).word;
    const std::string& tasks = pick(plan.tasks, all_tasks, shape).word;
    const std::int64_t milli = TRY(gpus_milli(gpus));
    const Duration length = std::max(plan.length.draw(time), Duration::seconds(1));
    out += fmt::format("  - {{name: job-{:0{}}, at: {}, length: {}, cpu: {}, memory: {}Gi", job,
                       width, duration_text(at), duration_text(length),
                       std::max<std::int64_t>(milli * 8 / 1000, 2),
                       std::max<std::int64_t>(milli * 64 / 1000, 8));
    if (milli > 0) out += fmt::format(", gpus: {}", gpus);
    if (tasks != "1") out += fmt::format(", tasks: {}", tasks);
    out += "}\n";
    const Duration gap = plan.every.draw(time);
    if (gap.us > limits::amount - at.us) {
      return fail(Code::limit,
                  fmt::format("job {} of {} would arrive beyond the year 30000", job, plan.jobs),
                  "fewer --jobs, or less time between them: --every");
    }
    at = at + gap;
  }
  return out;
}

}  // namespace tutti
