/// The answer of a comparison in one sentence.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <tuple>

#include "sim/comparison_text.h"
#include "sim/fleet_view.h"

namespace tutti {
namespace {

/// 6212 as "6 212".
std::string grouped(double number) {
  std::string digits = std::to_string(std::llround(std::max(number, 0.0)));
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, " ");
  return digits;
}

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

/// "With", which begins a sentence.
std::string with(const std::vector<RunSummary>& runs, std::size_t policies) {
  const std::size_t workloads = policies == 0 ? 0 : runs.size() / policies;
  return workloads > 1 ? fmt::format("On the mean of {} workloads, with", workloads) : "With";
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
  const std::vector<Standing> all = in_use(runs, mark, static_cast<double>(gpus.count));
  const std::string start = with(runs, all.size());
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
    return fmt::format("{} {}, {} of your {} would be in use {}.", start, who, grouped(best.figure),
                       gpus.text(), when);
  }
  if (gain(all[1]) == 0) {
    return fmt::format(
        "{} {}, {} more of your {} would be in use than with {} {}; {} is "
        "as good.",
        start, best.policy, gained(gain(all.back())), gpus.text(), all.back().policy, when,
        all[1].policy);
  }
  const double next = gain(all[1]);
  const double most = gain(all.back());
  std::string out = fmt::format("{} {}, {} more of your {} would be in use than with {}", start,
                                best.policy, gained(next), gpus.text(),
                                all.size() > 2 && next == most ? "any other" : all[1].policy);
  if (next != most)
    out += fmt::format(" and {} more than with {}", gained(most), all.back().policy);
  return out + " " + when + ".";
}

/// Of all workloads together.
struct Jobs {
  double all = 0;
  double arrived = 0;  ///< Until the end of the run.
  double never = 0;    ///< Can never start.
  double late = 0;     ///< Of the others, those that never did with the policy: a mean.
};

/// What did not start is said first, for no figure that follows says it. All that is to be said
/// where no job can ever start.
std::string not_started(const Jobs& jobs, const std::vector<NeverStarts>& never) {
  if (jobs.never > 0 && jobs.never == jobs.all) {
    if (jobs.all > 1) {
      return fmt::format(
          "No: none of the {} jobs can ever start on this fleet, however empty it is.",
          grouped(jobs.all));
    }
    const auto named =
        std::ranges::find_if(never, [](const NeverStarts& each) { return !each.kinds.empty(); });
    return fmt::format("No: {} can never start on this fleet, however empty it is.",
                       named->kinds.front().job);
  }
  const std::string late = jobs.late < 10 ? fmt::format("{:.2g}", jobs.late) : grouped(jobs.late);
  constexpr std::string_view waiting = "they count as waiting until then. ";
  if (jobs.never > 0 && jobs.late > 0) {
    return fmt::format(
        "{} of {} jobs can never start on this fleet, and {} more had not started at the end; {}",
        grouped(jobs.never), grouped(jobs.all), late, waiting);
  }
  if (jobs.never > 0) {
    return fmt::format("{} of {} jobs can never start on this fleet. ", grouped(jobs.never),
                       grouped(jobs.all));
  }
  if (jobs.late == 0) return {};
  return fmt::format("{} of {} jobs had not started at the end; {}", late, grouped(jobs.arrived),
                     waiting);
}

Jobs jobs_of(const std::vector<RunSummary>& runs, std::string_view policy,
             const std::vector<NeverStarts>& never) {
  Jobs out;
  for (const NeverStarts& each : never) {
    out.all += static_cast<double>(each.by_job.size());
    out.never += static_cast<double>(each.jobs);
  }
  for (const RunSummary& run : runs) {
    if (run.policy != policy || !run.trace) continue;
    out.late += run.not_started;
    out.arrived += static_cast<double>(run.trace->jobs);
  }
  if (never.empty()) out.all = out.arrived;
  out.late = std::max(0.0, out.late - out.never);
  return out;
}

/// Mean waits, the shortest first.
std::vector<Standing> waits(const std::vector<RunSummary>& runs) {
  std::vector<Standing> all =
      standings(runs, [](const RunSummary& run) { return run.trace->wait_s.mean; });
  std::ranges::stable_sort(all, {}, &Standing::figure);
  return all;
}

std::string trace_headline(const std::vector<RunSummary>& runs, const Devices& gpus) {
  const std::vector<Standing> all = waits(runs);
  const Standing& best = all.front();
  const Standing& worst = all.back();
  const std::string start = with(runs, all.size());
  const bool none = std::ranges::all_of(runs, [](const RunSummary& run) {
    return run.trace->jobs > 0 && run.not_started >= static_cast<double>(run.trace->jobs);
  });
  if (none) return "No job started.";
  if (all.size() == 1 || worst.figure - best.figure < 1) {
    const auto run = std::ranges::find(
        runs, best.policy, [](const RunSummary& each) { return std::string_view(each.policy); });
    const std::string who = all.size() == 1 ? std::string(best.policy)
                                            : fmt::format("any of the {} policies", all.size());
    return fmt::format(
        "{} {}, jobs wait {} on average, and {:.0f} % of your {} are in "
        "use.",
        start, who, wait_text(best.figure), run->trace->utilisation_percent, gpus.text());
  }
  const std::string next = wait_text(all[1].figure - best.figure);
  const std::string most = wait_text(worst.figure - best.figure);
  std::string out = fmt::format("{} {}, jobs wait {} on average, {} less than with {}", start,
                                best.policy, wait_text(best.figure), next,
                                all.size() > 2 && next == most ? "any other" : all[1].policy);
  if (next != most) out += fmt::format(" and {} less than with {}", most, worst.policy);
  return out + ".";
}

/// Is `a` the better end? First nobody may lose a place, then as much as possible is in use.
bool better(const SnapshotResult& a, const SnapshotResult& b) {
  const auto key = [](const SnapshotResult& one) {
    return std::make_tuple(one.given_started, -static_cast<std::int64_t>(one.running_unplaced),
                           std::llround(one.gpus_allocated * 1000), one.pending_started,
                           one.free_whole_nodes, one.largest_gang_8gpu);
  };
  return key(a) > key(b);
}

/// The best of the policies; null where there is only the present.
const RunSummary* best_anew(const std::vector<RunSummary>& runs) {
  const RunSummary* best = nullptr;
  for (const RunSummary& run : runs) {
    if (run.policy == present_policy) continue;
    if (best == nullptr || better(*run.snapshot, *best->snapshot)) best = &run;
  }
  return best;
}

/// Do the user's own jobs start now, beside what runs?
std::string given_headline(const RunSummary& run) {
  const SnapshotResult& result = *run.snapshot;
  if (result.given == 1) {
    return fmt::format("{} start now with {}, beside what runs and after what waits.",
                       result.given_started == 1 ? "Yes: the job would" : "No: the job would not",
                       run.policy);
  }
  return fmt::format(
      "With {}, {} of the {} jobs would start now, beside what runs and after what "
      "waits.",
      run.policy, result.given_started, result.given);
}

std::string snapshot_headline(const std::vector<RunSummary>& runs, const Devices& gpus) {
  const auto present = std::ranges::find(runs, present_policy, &RunSummary::policy);
  const RunSummary* const now = present == runs.end() ? nullptr : &*present;
  const RunSummary* const best = best_anew(runs);
  if (now == nullptr || best == nullptr) {
    const RunSummary& only = runs.front();
    return fmt::format("With {}, {} of your {} are allocated.", only.policy,
                       gained(only.snapshot->gpus_allocated), gpus.text());
  }
  if (best->snapshot->given > 0) return given_headline(*best);
  const SnapshotResult& a = *best->snapshot;
  const SnapshotResult& b = *now->snapshot;
  const std::string lost =
      a.running_unplaced == 0
          ? ""
          : fmt::format(", but {} running {} would find no place", a.running_unplaced,
                        a.running_unplaced == 1 ? "pod" : "pods");
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
        "With {}, {} whole {} would be free instead of {}, and the largest gang "
        "of 8-{} tasks that could start would have {} {} instead of {}{}.",
        best->policy, a.free_whole_nodes, a.free_whole_nodes == 1 ? "node" : "nodes",
        b.free_whole_nodes, gpus.word, a.largest_gang_8gpu,
        a.largest_gang_8gpu == 1 ? "task" : "tasks", b.largest_gang_8gpu, lost);
  }
  return fmt::format(
      "No policy here would do better than the present placement, with {} of your "
      "{} allocated.",
      gained(b.gpus_allocated), gpus.text());
}

}  // namespace

std::string Devices::text() const {
  return fmt::format("{} {}{}", grouped(static_cast<double>(count)), word, count == 1 ? "" : "s");
}

Devices devices_of(const FleetFile& fleet) {
  return {static_cast<std::uint64_t>(gpu_milli_of(fleet) / DeviceRequest::whole),
          device_word(fleet)};
}

std::string_view best_policy(const std::vector<RunSummary>& runs) {
  if (runs.empty()) return {};
  if (runs.front().trace) return waits(runs).front().policy;
  const RunSummary* const best = runs.front().snapshot ? best_anew(runs) : nullptr;
  return best == nullptr ? std::string_view() : std::string_view(best->policy);
}

std::string headline(const std::vector<RunSummary>& runs, const Devices& devices,
                     const std::vector<NeverStarts>& never) {
  if (runs.empty()) return {};
  if (runs.front().snapshot) return snapshot_headline(runs, devices);
  const Jobs jobs = jobs_of(runs, best_policy(runs), never);
  std::string first = not_started(jobs, never);
  if (jobs.never > 0 && jobs.never == jobs.all) return first;
  if (runs.front().trace) return first + trace_headline(runs, devices);
  if (devices.count == 0) return first + fmt::format("The fleet has no {}s.", devices.word);
  return first + fill_headline(runs, devices);
}

}  // namespace tutti
