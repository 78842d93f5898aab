/// What would become of a job, as part of an answer to a what-if or a dry run.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "api/router.h"
#include "format/json.h"
#include "sched/suppose.h"

namespace tutti {

/// The member "nodes": names; of many the first hundred.
void write_nodes(JsonWriter& json, const State& state, const std::vector<NodeIndex>& nodes);

/// "starts", and where or why not: "nodes", or "text" that names nothing which this reader may not
/// see; of a job that does not wait there "runs", and if so where.
void write_fate(JsonWriter& json, const Supposed& supposed, const PolicyFactory& factory,
                const User& reader, JobId job);

/// Why a job waits takes a search, during which nothing else is decided: of more it is not said.
inline constexpr std::size_t explained_most = 5;

/// Name and fate of each job of these submissions.
void write_fates(JsonWriter& json, const Supposed& supposed, const PolicyFactory& factory,
                 const User& reader, std::span<const Event> submissions);

/// dry_run=true in the query.
Result<bool> is_dry_run(const net::Request& request);

}  // namespace tutti
