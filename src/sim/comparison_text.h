/// What people and programs read of a comparison: JSON, a table, and one sentence.
///
/// All of it is a function of what was found; nothing is run here. Linear in the runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/comparison.h"
#include "sim/never_start.h"
#include "sim/waiting.h"

namespace tutti {

/// What jobs did not start, beside the figures of the runs.
struct Findings {
  std::vector<NeverStarts> never;  ///< For each workload.
  std::vector<Waiting> waiting;
  std::vector<std::string> notes;  ///< What else to know of the figures.
};

/// What `tutti sim --json` writes; docs/sim.md says what each member means.
std::string to_json(const std::vector<RunSummary>& runs, const Findings& findings = {});

/// For people; `device` is what they call an accelerator of the fleet, see device_word.
std::string to_table(const std::vector<RunSummary>& runs, std::string_view device = "GPU");

/// How many accelerators there are, and what people call one.
struct Devices {
  std::uint64_t count = 0;
  std::string_view word = "GPU";
  /// "8 GPUs"
  std::string text() const;
};
Devices devices_of(const FleetFile& fleet);

/// The answer in one sentence, or two: jobs that can never start are said first.
std::string headline(const std::vector<RunSummary>& runs, const Devices& devices,
                     const std::vector<NeverStarts>& never = {});

/// The seconds as the report says them: "45 s", "16 min", "1.5 h", "2.3 d".
std::string wait_text(double seconds);

}  // namespace tutti
