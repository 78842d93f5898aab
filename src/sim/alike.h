/// Jobs that are alike as far as placement is concerned: equal pods of a ReplicaSet, copies of a
/// job. What is said of one of them holds for all, so it is said once.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "dialect/workload.h"
#include "model/state.h"

namespace tutti {

/// Jobs are alike when these are equal. Of one state only: rows of shapes are its own.
using Likeness = std::tuple<QueueIndex, std::string, std::vector<GangShapeIndex>>;

inline Likeness likeness(const State& state, JobIndex index) {
  const Job& job = state.jobs()[index];
  std::vector<GangShapeIndex> gangs;
  for (std::uint32_t at = 0; at < job.gangs; ++at) {
    gangs.push_back(state.gangs()[GangIndex(job.first_gang.value() + at)].shape);
  }
  return {job.queue, job.spec->space, std::move(gangs)};
}

/// Do the jobs come from more than one namespace? Then names alone do not tell them apart.
inline bool many_spaces(const Workload& workload) {
  return std::ranges::any_of(workload.jobs, [&](const Submission& job) {
    return job.spec->space != workload.jobs.front().spec->space;
  });
}

/// "train", or "ml/train" where namespaces matter.
inline std::string full_name(const JobSpec& spec, bool with_space) {
  return with_space && !spec.space.empty() ? spec.space + "/" + spec.name : spec.name;
}

}  // namespace tutti
