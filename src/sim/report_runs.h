/// From the summaries of `compare` to the report of `tutti sim --report`.
#pragma once

#include <vector>

#include "dialect/workload.h"
#include "sim/comparison_text.h"
#include "sim/report.h"

namespace tutti {

/// All but `version` and `command`.
Report report_of(const FleetFile& fleet, const std::vector<RunSummary>& runs,
                 const Findings& findings = {});

}  // namespace tutti
