/// Summaries of runs as JSON, as a table, and as one sentence.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <tuple>

#include "format/json.h"
#include "format/quantity.h"
#include "format/text.h"
#include "sim/comparison.h"

namespace tutti {
namespace {

// --- JSON ---------------------------------------------------------------------------------------

void write_marks(JsonWriter& json, std::string_view name,
                 const std::map<unsigned, Figure>& figures) {
  json.key(name).begin_object();
  for (const auto& [mark, figure] : figures) {
    json.key(std::to_string(mark)).begin_object();
    json.member("mean", figure.mean).member("sd", figure.sd).end_object();
  }
  json.end_object();
}

void write_trace(JsonWriter& json, const RunSummary& run) {
  const Report::Trace& trace = *run.trace;
  json.member("jobs", trace.jobs).member("finished", trace.finished);
  json.member("not_started", run.not_started);
  json.member("avg_wait_s", trace.wait_s.mean).member("p50_wait_s", trace.wait_s.p50);
  json.member("p95_wait_s", trace.wait_s.p95).member("p99_wait_s", trace.wait_s.p99);
  json.member("max_wait_s", trace.wait_s.max);
  json.member("gpu_utilisation_percent", trace.utilisation_percent);
  json.member("makespan_s", trace.makespan_s);
}

void write_snapshot(JsonWriter& json, const SnapshotResult& result) {
  json.member("gpus_allocated", result.gpus_allocated);
  json.member("running", result.running).member("running_unplaced", result.running_unplaced);
  json.member("pending", result.pending).member("pending_started", result.pending_started);
  json.member("free_whole_nodes", result.free_whole_nodes);
  json.member("largest_gang_8gpu", result.largest_gang_8gpu);
}

void write_fill(JsonWriter& json, const RunSummary& run) {
  write_marks(json, "unallocated_gpu_percent", run.unallocated_gpu_percent);
  write_marks(json, "fragmented_gpu_percent", run.fragmented_gpu_percent);
  json.key("failed_before_100").begin_object();
  for (const auto& [size, failed] : run.failed_before_100) json.member(size, failed);
  json.end_object();
}

void write_never(JsonWriter& json, const std::vector<NeverStarts>& never) {
  if (std::ranges::all_of(never, [](const NeverStarts& each) { return each.kinds.empty(); }))
    return;
  json.key("never_start").begin_list();
  for (const NeverStarts& each : never) {
    for (const NeverStarts::Kind& kind : each.kinds) {
      json.begin_object().member("workload", each.workload).member("job", kind.job);
      json.member("jobs", kind.jobs);
      if (!kind.why.empty()) json.member("why", kind.why);
      json.end_object();
    }
  }
  json.end_list();
}

// --- Tables -------------------------------------------------------------------------------------

double rate(const RunSummary& run) {
  return run.seconds > 0 ? static_cast<double>(run.decisions) / run.seconds : 0.0;
}

std::string at_mark(const std::map<unsigned, Figure>& figures, unsigned mark) {
  const auto found = figures.find(mark);
  if (found == figures.end()) return "-";
  return fmt::format("{:.2f}", found->second.mean);
}

std::string failures(const RunSummary& run, const std::string& size) {
  const auto found = run.failed_before_100.find(size);
  return found == run.failed_before_100.end() ? "0" : fmt::format("{:.1f}", found->second);
}

std::string wait_text(double seconds) {
  return to_text(Duration{static_cast<std::int64_t>(std::llround(seconds)) * 1'000'000});
}

std::string fill_table(const std::vector<RunSummary>& runs) {
  Table table({"workload", "policy", "unallocated % at 100", "at 130", "fragmented % at 100",
               "failed share", "1 gpu", "8 gpu", "decisions/s"});
  for (const RunSummary& run : runs) {
    table.add({run.workload, run.policy, at_mark(run.unallocated_gpu_percent, 100),
               at_mark(run.unallocated_gpu_percent, 130), at_mark(run.fragmented_gpu_percent, 100),
               failures(run, "share"), failures(run, "1"), failures(run, "8"),
               fmt::format("{:.0f}", rate(run))});
  }
  return table.text();
}

std::string trace_table(const std::vector<RunSummary>& runs, std::string_view device) {
  Table table({"workload", "policy", "mean wait", "p50", "p99", "longest",
               fmt::format("{}s in use %", device), "finished", "never started", "jobs"});
  for (const RunSummary& run : runs) {
    const Report::Trace& trace = *run.trace;
    table.add({run.workload, run.policy, wait_text(trace.wait_s.mean), wait_text(trace.wait_s.p50),
               wait_text(trace.wait_s.p99), wait_text(trace.wait_s.max),
               fmt::format("{:.1f}", trace.utilisation_percent), std::to_string(trace.finished),
               fmt::format("{:.4g}", run.not_started), std::to_string(trace.jobs)});
  }
  return table.text();
}

std::string snapshot_table(const std::vector<RunSummary>& runs, std::string_view device) {
  Table table({"cluster", "policy", fmt::format("{}s allocated", device), "pending started", "of",
               "running unplaced", "whole nodes free", fmt::format("largest 8-{} gang", device)});
  for (const RunSummary& run : runs) {
    const SnapshotResult& result = *run.snapshot;
    table.add({run.workload, run.policy, fmt::format("{:.1f}", result.gpus_allocated),
               std::to_string(result.pending_started), std::to_string(result.pending),
               std::to_string(result.running_unplaced), std::to_string(result.free_whole_nodes),
               std::to_string(result.largest_gang_8gpu)});
  }
  return table.text();
}

// --- The sentence -------------------------------------------------------------------------------

/// 6212 as "6 212".
std::string grouped(double number) {
  std::string digits = std::to_string(std::llround(std::max(number, 0.0)));
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, " ");
  return digits;
}

/// How many accelerators the fleet has, and what one is called.
struct Devices {
  double count = 0;
  std::string_view word;
  /// "8 GPUs"
  std::string text() const { return fmt::format("{} {}s", grouped(count), word); }
};

/// A gain, never more than there is: 0.59 as "0.5", 12.9 as "12".
std::string gained(double number) {
  constexpr double inexact = 1e-6;  // A sum of thousandths may be a little less than it is.
  const double tenths = std::floor(number * 10 + inexact);
  if (tenths >= 100 || std::fmod(tenths, 10) == 0) return grouped(std::floor(tenths / 10));
  return fmt::format("{:.1f}", tenths / 10);
}

/// A policy's figure, averaged over the workloads.
struct Standing {
  std::string_view policy;
  double figure = 0;
  double error = 0;  ///< The standard error of the figure.
};

template <class Get>
std::vector<Standing> standings(const std::vector<RunSummary>& runs, Get get) {
  std::vector<Standing> out;
  std::vector<double> counts;
  for (const RunSummary& run : runs) {
    const auto found = std::ranges::find(out, std::string_view(run.policy), &Standing::policy);
    const auto row = static_cast<std::size_t>(found - out.begin());
    if (found == out.end()) {
      out.push_back({.policy = run.policy});
      counts.push_back(0);
    }
    out[row].figure += get(run);
    ++counts[row];
  }
  for (std::size_t row = 0; row < out.size(); ++row) out[row].figure /= counts[row];
  return out;
}

std::string prefix(const std::vector<RunSummary>& runs, std::size_t policies) {
  const std::size_t workloads = policies == 0 ? 0 : runs.size() / policies;
  return workloads > 1 ? fmt::format("On the mean of {} workloads: ", workloads) : "";
}

/// The mark to speak of: 100, else the last one that all runs reached; 0 when there is none.
unsigned common_mark(const std::vector<RunSummary>& runs) {
  unsigned last = 0;
  for (const unsigned mark : arrival_marks) {
    const bool common = std::ranges::all_of(
        runs, [&](const RunSummary& run) { return run.unallocated_gpu_percent.contains(mark); });
    if (common && mark <= 100) last = mark;
  }
  return last;
}

/// Accelerators in use at the mark, the best policy first.
std::vector<Standing> in_use(const std::vector<RunSummary>& runs, unsigned mark, double gpus) {
  std::vector<Standing> all = standings(runs, [&](const RunSummary& run) {
    return gpus * (1 - run.unallocated_gpu_percent.at(mark).mean / 100);
  });
  for (Standing& each : all) {
    double squares = 0;
    double workloads = 0;
    for (const RunSummary& run : runs) {
      if (run.policy != each.policy) continue;
      ++workloads;
      const double sd = gpus * run.unallocated_gpu_percent.at(mark).sd / 100;
      squares += sd * sd / static_cast<double>(std::max<std::size_t>(run.seeds.size(), 1));
    }
    each.error = std::sqrt(squares) / workloads;
  }
  std::ranges::stable_sort(all, std::greater<>(), &Standing::figure);
  return all;
}

std::string fill_headline(const std::vector<RunSummary>& runs, const Devices& gpus) {
  const unsigned mark = common_mark(runs);
  if (mark == 0) return "Too little work arrived to say anything about the policies.";
  const std::vector<Standing> all = in_use(runs, mark, gpus.count);
  const std::string start = prefix(runs, all.size());
  const std::string when = mark == 100
                               ? "when work for all of them has arrived"
                               : fmt::format("when work for {} % of them has arrived", mark);
  const Standing& best = all.front();
  // A mean is rounded, but nothing becomes one; and what the seeds alone may have made is none.
  const auto gain = [&](const Standing& other) {
    const double exact = best.figure - other.figure;
    if (exact < 2 * std::hypot(best.error, other.error)) return 0.0;
    return exact < 10 ? std::floor(exact * 10) / 10 : std::round(exact);
  };
  if (all.size() == 1 || gain(all.back()) == 0) {
    const std::string who = all.size() == 1 ? std::string(best.policy)
                                            : fmt::format("any of the {} policies", all.size());
    return fmt::format("{}With {}, {} of your {} would be in use {}.", start, who,
                       grouped(best.figure), gpus.text(), when);
  }
  if (gain(all[1]) == 0) {
    return fmt::format(
        "{}With {}, {} more of your {} would be in use than with {} {}; {} is "
        "as good.",
        start, best.policy, gained(gain(all.back())), gpus.text(), all.back().policy, when,
        all[1].policy);
  }
  const double next = gain(all[1]);
  const double most = gain(all.back());
  std::string out = fmt::format("{}With {}, {} more of your {} would be in use than with {}", start,
                                best.policy, gained(next), gpus.text(),
                                all.size() > 2 && next == most ? "any other" : all[1].policy);
  if (next != most)
    out += fmt::format(" and {} more than with {}", gained(most), all.back().policy);
  return out + " " + when + ".";
}

/// Jobs that never started count as waiting until the end, which is no wait of theirs.
std::string not_started(const std::vector<RunSummary>& runs, std::string_view policy) {
  double jobs = 0;
  double never = 0;
  for (const RunSummary& run : runs) {
    if (run.policy != policy) continue;
    jobs += static_cast<double>(run.trace->jobs);
    never += run.not_started;
  }
  if (never == 0) return {};
  return fmt::format(" {:.4g} of {} jobs never started; they count as waiting until the end.",
                     never, grouped(jobs));
}

std::string trace_headline(const std::vector<RunSummary>& runs, const Devices& gpus) {
  std::vector<Standing> all =
      standings(runs, [](const RunSummary& run) { return run.trace->wait_s.mean; });
  std::ranges::stable_sort(all, {}, &Standing::figure);
  const Standing& best = all.front();
  const Standing& worst = all.back();
  const std::string start = prefix(runs, all.size());
  if (all.size() == 1 || worst.figure - best.figure < 1) {
    const auto run = std::ranges::find(
        runs, best.policy, [](const RunSummary& each) { return std::string_view(each.policy); });
    const std::string who = all.size() == 1 ? std::string(best.policy)
                                            : fmt::format("any of the {} policies", all.size());
    return fmt::format(
        "{}With {}, jobs wait {} on average, and {:.0f} % of your {} are in "
        "use.{}",
        start, who, wait_text(best.figure), run->trace->utilisation_percent, gpus.text(),
        not_started(runs, best.policy));
  }
  const std::string next = wait_text(all[1].figure - best.figure);
  const std::string most = wait_text(worst.figure - best.figure);
  std::string out = fmt::format("{}With {}, jobs wait {} on average, {} less than with {}", start,
                                best.policy, wait_text(best.figure), next,
                                all.size() > 2 && next == most ? "any other" : all[1].policy);
  if (next != most) out += fmt::format(" and {} less than with {}", most, worst.policy);
  return out + "." + not_started(runs, best.policy);
}

/// Is `a` the better end? First nobody may lose a place, then as much as possible is in use.
bool better(const SnapshotResult& a, const SnapshotResult& b) {
  const auto key = [](const SnapshotResult& one) {
    return std::make_tuple(-static_cast<std::int64_t>(one.running_unplaced),
                           std::llround(one.gpus_allocated * 1000), one.pending_started,
                           one.free_whole_nodes, one.largest_gang_8gpu);
  };
  return key(a) > key(b);
}

std::string snapshot_headline(const std::vector<RunSummary>& runs, const Devices& gpus) {
  const RunSummary* now = nullptr;
  const RunSummary* best = nullptr;
  for (const RunSummary& run : runs) {
    if (run.policy == present_policy) {
      now = &run;
    } else if (best == nullptr || better(*run.snapshot, *best->snapshot)) {
      best = &run;
    }
  }
  if (now == nullptr || best == nullptr) {
    const RunSummary& only = runs.front();
    return fmt::format("With {}, {} of your {} are allocated.", only.policy,
                       gained(only.snapshot->gpus_allocated), gpus.text());
  }
  const SnapshotResult& a = *best->snapshot;
  const SnapshotResult& b = *now->snapshot;
  const std::string lost =
      a.running_unplaced == 0
          ? ""
          : fmt::format(", but {} running pods would find no place", a.running_unplaced);
  if (const std::string gain = gained(a.gpus_allocated - b.gpus_allocated);
      a.gpus_allocated > b.gpus_allocated && gain != "0") {
    return fmt::format(
        "With {}, {} more of your {} would be in use than at present, if all pods were placed "
        "anew: {} of {} waiting ones would start{}.",
        best->policy, gain, gpus.text(), a.pending_started, a.pending, lost);
  }
  if (a.pending_started > b.pending_started) {
    return fmt::format(
        "With {}, {} of {} waiting pods would start that wait at present, on no more {}s{}.",
        best->policy, a.pending_started - b.pending_started, a.pending, gpus.word, lost);
  }
  if (a.free_whole_nodes > b.free_whole_nodes) {
    return fmt::format(
        "With {}, {} whole nodes would be free instead of {}, and the largest gang "
        "of 8-{} tasks that could start would have {} tasks instead of {}{}.",
        best->policy, a.free_whole_nodes, b.free_whole_nodes, gpus.word, a.largest_gang_8gpu,
        b.largest_gang_8gpu, lost);
  }
  return fmt::format(
      "No policy here would do better than the present placement, with {} of your "
      "{} allocated.",
      gained(b.gpus_allocated), gpus.text());
}

}  // namespace

std::string to_json(const std::vector<RunSummary>& runs, const std::vector<NeverStarts>& never) {
  std::string out;
  JsonWriter json(out, JsonStyle::indented);
  json.begin_object().key("runs").begin_list();
  for (const RunSummary& run : runs) {
    json.begin_object().member("policy", run.policy).member("workload", run.workload);
    json.key("seeds").begin_list();
    for (const std::uint64_t seed : run.seeds) json.value(seed);
    json.end_list();
    if (run.trace) {
      write_trace(json, run);
    } else if (run.snapshot) {
      write_snapshot(json, *run.snapshot);
    } else {
      write_fill(json, run);
    }
    json.member("decisions", run.decisions).member("decisions_per_second", rate(run));
    json.member("seconds", run.seconds);
    json.member("state_hash", fmt::format("{:016x}", run.state_hash)).end_object();
  }
  json.end_list();
  write_never(json, never);
  json.end_object();
  return out + "\n";
}

std::string to_table(const std::vector<RunSummary>& runs, std::string_view device) {
  if (runs.empty()) return {};
  if (runs.front().trace) return trace_table(runs, device);
  return runs.front().snapshot ? snapshot_table(runs, device) : fill_table(runs);
}

std::string headline(const std::vector<RunSummary>& runs, std::uint64_t gpus,
                     std::string_view device) {
  if (runs.empty()) return {};
  const Devices all{static_cast<double>(gpus), device};
  if (runs.front().trace) return trace_headline(runs, all);
  if (runs.front().snapshot) return snapshot_headline(runs, all);
  return gpus == 0 ? fmt::format("The fleet has no {}s.", device) : fill_headline(runs, all);
}

}  // namespace tutti
