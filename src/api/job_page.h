/// Which jobs, and what of them, a list shows: the query of GET /api/v1/jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/access.h"
#include "api/job_table.h"
#include "api/json_text.h"
#include "base/result.h"
#include "net/message.h"

namespace tutti {

struct JobPage {
  JobStates states;  ///< None: all.
  std::optional<std::string> user;
  std::optional<std::string> queue;
  std::optional<std::string> name;  ///< '*' stands for any letters.
  JobId below{~std::uint64_t{0} - 1};
  std::size_t most = 100;
  JobFields fields = all_job_fields();

  static Result<JobPage> of(const net::Request& request);
  bool wants(const JobRow& row) const;
};

/// {"jobs":[...],"next":...}, those that the reader may see, the newest first. Looks at a bounded
/// number of jobs, so that a rare one among a million keeps nobody waiting: a page may hold fewer
/// than `most`, with a `next`.
std::string jobs_json(const JobTable& table, const JobPage& page, const User& reader);

/// Does `text` look like `pattern`, in which '*' stands for any letters? O(pattern * text).
bool looks_like(std::string_view text, std::string_view pattern);

}  // namespace tutti
