/// Tutti's own YAML: fleets, workloads and single jobs, as docs/formats.md describes them.
///
/// One file may hold all of it, in one document or in several: each reader takes the keys that it
/// is about and leaves the others alone; a key that no reader knows is an error. The result depends
/// on the text and the catalog only. Errors stand at "line:column".
/// Complexity: linear in the text and in what its ranges and copies stand for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dialect/workload.h"
#include "format/value.h"

namespace tutti {

class Catalog;

/// A description is held in memory as a whole, about 1 KB a node and a device.
inline constexpr std::size_t nodes_per_file = 1'000'000;
inline constexpr std::size_t devices_per_file = 4'000'000;
inline constexpr std::size_t jobs_per_file = 1'000'000;
/// Of all nodes together, or of all jobs.
inline constexpr std::size_t labels_per_file = 10'000'000;
/// Of all jobs together: all of them may wait at once.
inline constexpr std::size_t tasks_per_file = 10'000'000;

/// `name` is the fleet's. Without a catalog a device is only as known as the file describes it.
Result<FleetFile> parse_fleet(std::string_view yaml, std::string name, const Catalog* catalog);

/// Jobs in the order of the file, the copies of one job next to each other. Without a catalog the
/// models that jobs name are taken literally.
Result<Workload> parse_workload(std::string_view yaml, std::string name, const Catalog* catalog,
                                TaskLabels labels = TaskLabels::selected);
/// The same of a document that was read already, from JSON for example.
Result<Workload> parse_workload(const Value& document, std::string name, const Catalog* catalog,
                                TaskLabels labels = TaskLabels::selected);

/// What a queue of that path may use: `limit`, `guarantee` and `weight`, as entries of `queues` in
/// a fleet's file have them.
Result<QueueSpec> parse_queue(const Value& document, std::string path);

}  // namespace tutti
