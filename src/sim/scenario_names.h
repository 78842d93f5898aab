/// What a scenario has described so far, and the ways in which its later lines name it; private to
/// scenario*.cpp. A name that is unknown is an error with the nearest known one.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/node.h"
#include "sim/scenario.h"
#include "sim/scenario_text.h"

namespace tutti {

/// A scenario is small enough to check everything after every step.
inline constexpr std::size_t scenario_nodes = 4'096;
inline constexpr std::size_t scenario_jobs = 4'096;
inline constexpr std::size_t scenario_tasks = 100'000;

struct ScenarioNames {
  std::map<std::string, NodeSpec, std::less<>> nodes;  ///< As they are described now.
  std::map<std::string, JobId, std::less<>> jobs;
  std::vector<std::vector<std::string>> roles;  ///< By job: the role of each task.
  std::set<std::string, std::less<>> queues{"default"};

  /// One node or a range of them.
  Result<std::vector<std::string>> nodes_of(const ScenarioWord& word) const;
  /// One job or a range of them.
  Result<std::vector<JobId>> jobs_of(const ScenarioWord& word) const;
  /// "train", "note-[0-9]": all tasks of these jobs; "train/3"; "train/worker", "train/worker/0".
  Result<std::vector<TaskId>> tasks_of(const ScenarioWord& word) const;
  /// "n0/3": a device by its ordinal.
  Result<std::pair<std::string, std::uint16_t>> device_of(const ScenarioWord& word) const;

 private:
  Result<std::vector<TaskId>> tasks_within(JobId job, std::string_view part,
                                           const ScenarioWord& word) const;
};

/// Can it stand in a line without being taken for something else?
bool plain_name(std::string_view name);

/// A whole number from `least` to 10^9.
Result<std::int64_t> count_of(const ScenarioWord& word, std::int64_t least);

}  // namespace tutti
