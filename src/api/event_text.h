/// What an event means for a job or a node, in one word, and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/job_table.h"

namespace tutti {

/// What of a job decides whether something happened to it that is worth telling.
struct JobGlance {
  JobId id;
  bool known = false;
  JobState state = JobState::pending;
  bool held = false;
  bool cancelled = false;
  bool runs = false;  ///< Some task of it.

  static JobGlance of(const JobTable& jobs, JobId id);
};

/// The jobs that it may concern, each once.
std::vector<JobId> jobs_of(const Happening& happening);

/// "submitted", "started", "ended", "requeued", "held", "released", "cancelled" (it still runs), or
/// nothing.
std::string_view what_happened(const JobGlance& before, const JobGlance& after);
std::string job_event(const JobTable& jobs, const JobRow& row, const Happening& happening,
                      std::string_view what);

/// {"row":2,"at":"...","what":"joined","node":"n0"}; nothing where it is not about a node.
/// "joined", "reported" (again), "lost", "cordoned", "uncordoned", "device" (its health changed).
std::string node_event(const JobTable& jobs, const Happening& happening);

}  // namespace tutti
