/// The report of `tutti sim --report FILE`: one HTML page with tables, charts and a fleet map.
///
/// The page is a template (built from web/, compiled in where npm was there) that holds the report
/// as JSON and draws it with its own script; it loads nothing and stays readable for ever. The JSON
/// has the members below under the same names, lists as lists, std::map as objects, an absent
/// optional left out. Percentages and counts are means over the seeds of a run, rounded to three
/// decimals. Complexity: linear in the report; the maps of 10 000 nodes take about 0.3 MB a run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

struct Report {
  struct Model {
    std::string model;
    std::uint32_t nodes = 0;
    std::uint32_t gpus = 0;
  };
  struct Fleet {
    std::string name;
    std::uint32_t nodes = 0;
    std::uint32_t gpus = 0;
    bool all_gpus = true;  ///< Else the page speaks of accelerators.
    std::vector<Model> models;
    /// One entry per node, in the one order that all maps share; empty without maps.
    std::vector<std::string> node_names;
    std::vector<std::int32_t> node_models;  ///< Index in models; -1: no accelerators.
    std::vector<std::uint32_t> node_devices;
    std::vector<std::uint32_t> closed_nodes;  ///< Take no work: cordoned or not ready. Ascending.
  };

  /// A point of the curves over arrivals. All are % of the fleet's accelerators.
  struct Point {
    double arrived_percent = 0;
    double allocated_percent = 0;
    double fragmented_percent = 0;
  };
  struct Spread {
    double mean = 0;
    double sd = 0;
  };
  struct Left {
    std::string model;
    std::uint32_t gpus = 0;
    double unallocated = 0;  ///< Accelerators free after the last arrival, on open nodes.
  };

  /// The fleet after the last arrival of the first seed.
  struct NodeMap {
    std::vector<std::uint32_t> cpu_free_percent;  ///< By node.
    std::vector<std::uint32_t> memory_free_percent;
    /// By device, the devices of node 0 first; node n has node_devices[n] of them.
    std::vector<std::uint32_t> device_free_permille;
  };

  /// What only a replayed trace has: jobs that wait, run and end.
  struct Wait {
    double mean = 0;
    double p50 = 0;
    double p95 = 0;
    double p99 = 0;
    double max = 0;
  };
  struct Moment {
    double at_s = 0;  ///< Since the first arrival. What follows holds until the next moment.
    double allocated_percent = 0;
    std::uint64_t queued_jobs = 0;
  };
  struct Trace {
    std::uint64_t jobs = 0;
    std::uint64_t finished = 0;
    double makespan_s = 0;
    /// Mean of allocated accelerators until the last arrival, the same time for all policies; over
    /// the makespan where all jobs arrive at once.
    double utilisation_percent = 0;
    Wait wait_s;                    ///< From arrival to start.
    std::vector<Moment> over_time;  ///< By rising time; thin it out to some hundred.
  };

  /// What only a cluster's dump has: its pods placed anew.
  struct Anew {
    double gpus_allocated = 0;
    std::uint32_t running = 0;  ///< In the dump.
    std::uint32_t running_unplaced = 0;
    std::uint32_t pending = 0;  ///< In the dump.
    std::uint32_t pending_started = 0;
    std::uint32_t free_whole_nodes = 0;
    std::uint32_t largest_gang_8gpu = 0;  ///< Tasks.
  };

  /// One policy on one workload.
  struct Run {
    std::string policy;
    std::string workload;
    std::vector<std::uint64_t> seeds;
    std::vector<Point> curve;  ///< By rising arrived_percent.
    /// By arrived %; in the JSON an object with keys such as "100". Shown are 100 and 130.
    std::map<std::uint32_t, Spread> unallocated_gpu_percent;
    std::vector<Left> left_by_model;
    std::map<std::string, double> failed_before_100;  ///< Tasks, by size_name.
    double decisions_per_second = 0;
    std::optional<NodeMap> map;
    std::optional<Trace> trace;
    std::optional<Anew> snapshot;
  };

  /// Jobs of one kind that did not start, or some of which did not.
  struct Stuck {
    std::string workload;
    std::string policy;  ///< Empty where none would help.
    std::string job;     ///< One of them.
    std::uint64_t jobs = 0;
    std::uint64_t started = 0;
    bool ran = false;    ///< They run in the dump; in the JSON "runs_at_present".
    bool never = false;  ///< They are among `never_start`.
    std::string why;     ///< Lines; may be empty.
  };

  std::string version;   ///< "0.1.0 (4f2c9d1)"
  std::string headline;  ///< The answer in one sentence.
  std::string command;   ///< How to make it again; may be empty.
  Fleet fleet;
  std::vector<Run> runs;
  std::vector<std::string> notes;
  std::vector<Stuck> never_start;
  std::vector<Stuck> waiting;
};

/// The empty page, or how to get it where this program was built without it.
/// Ask before a long run.
Result<std::string_view> report_page();

/// JSON that may stand inside a <script> element: no name in it can end the element.
/// REQUIRES: the node lists of the fleet and of each map fit together.
std::string to_json(const Report& report);

/// The page with the report in it. REQUIRES: `page` is from report_page.
std::string to_html(const Report& report, std::string_view page);

}  // namespace tutti
