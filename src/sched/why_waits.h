/// Why a job waits, in words: its rules, or what its first gang that waits lacks.
#pragma once

#include <string>

#include "sched/explain.h"

namespace tutti {

/// Lines; nothing where it waits for nothing, or there is no such job. Costs what explain() costs.
std::string why_waits(const State& state, const PolicyFactory& factory, JobId job,
                      const MayName& may_name);

}  // namespace tutti
