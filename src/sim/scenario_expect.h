/// Reading `expect ...`, and what is true of it; private to scenario*.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/scenario_names.h"

namespace tutti {

Result<Expectation> parse_expectation(const Statement& statement, const ScenarioNames& names);

/// "n0", "n0*3 n1": equal neighbours counted; all equal: one.
std::string told_short(const std::vector<std::string>& parts);

/// "0-3,6".
std::string told_devices(const DeviceSet& devices);

/// An amount in its finest unit, as it is compared: "0.5" of gpus and cpu, else "512Mi".
std::string told_amount(std::string_view name, std::int64_t amount);

/// Counts in the order pending, assigned, running, stopping, succeeded, failed, cancelled, ended,
/// absent: "running", or "3 running, 1 pending".
std::string told_phases(std::span<const std::int64_t> counts);
inline constexpr std::size_t phases_told = 9;

}  // namespace tutti
