/// Files of fleets and workloads; the format is found by looking at the file.
#pragma once

#include <string>

#include "base/result.h"
#include "dialect/workload.h"
#include "policy/registry.h"
#include "sim/openb.h"

namespace tutti {

/// The whole file. Errors name the path and the system's reason.
Result<std::string> read_file(const std::string& path);

/// All of `text`, or nothing: written beside the target first, then renamed.
Result<void> write_file(const std::string& path, std::string_view text);

Result<FleetFile> load_fleet(const std::string& path, Skipped& skipped);
Result<Workload> load_workload(const std::string& path, Skipped& skipped);
/// A built-in policy by name, or a policy file by path.
Result<PolicyRecipe> load_policy(const std::string& name_or_path);

}  // namespace tutti
