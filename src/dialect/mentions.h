/// Words of a file that something else must know: queues and levels of a fleet, models, attributes.
///
/// A file may be right by itself and still speak of what is not there. Its words are gathered with
/// their places, so that whoever knows the rest can say where one of them stands.
/// Complexity: linear in the values, times a logarithm of the different words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dialect/workload.h"
#include "format/value.h"

namespace tutti {

class Catalog;

/// Of the `jobs`, `job` and `mix` of documents that parse_workload takes.
std::vector<Mention> mentions_of_jobs(std::span<const Value> documents);
/// Of one of these jobs.
std::vector<Mention> mentions_of_job(const Value& job);
/// Of the `nodes` of documents that parse_fleet takes.
std::vector<Mention> mentions_of_nodes(std::span<const Value> documents);

/// Where it is said first, or empty.
std::string place_of(std::span<const Mention> mentions, Mention::Of of, std::string_view name);

/// What is odd about a fleet, though it may be meant: each with its place, what is odd, and what
/// may be meant instead.
std::vector<Error> odd_words(const FleetFile& fleet, const Catalog& catalog);
/// The same of a workload, as far as the catalog and the fleet can tell, which may be null.
std::vector<Error> odd_words(const Workload& workload, const FleetFile* fleet,
                             const Catalog& catalog);

}  // namespace tutti
