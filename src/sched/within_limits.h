/// Could a job ever start within the hard limits of its queue, and of those above it?
#pragma once

#include "base/result.h"
#include "model/job.h"

namespace tutti {

class State;

/// An error names the job, the queue, what one of its gangs needs at least, and the limit. As when
/// a gang is placed, each resource is judged by itself, by the least that some alternative takes.
/// What is held now does not matter: that ends. O(roles * queues above * resources limited).
/// REQUIRES: the queue is known and check_spec() passed.
Result<void> within_limits(const State& state, const JobSpec& spec);

}  // namespace tutti
