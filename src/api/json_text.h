/// How the API writes what it shows.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/job_table.h"
#include "base/result.h"
#include "format/json.h"

namespace tutti {

/// "2026-11-30T12:00:00.123456Z". For the years 1970 to 9999.
std::string rfc3339(Instant at);

/// Which fields of a job are shown.
using JobFields = std::bitset<16>;
JobFields all_job_fields();
/// Of "id,state".
Result<JobFields> job_fields_of(std::string_view names);
/// Why a job is in its state, without what only its owner may know: names of files, for example.
std::string reason_for_all(const JobRow& row);

/// Which fields of a job somebody sees.
struct JobSight {
  JobFields fields = all_job_fields();
  bool whole = true;  ///< Else without what only its owner may know.
};
/// Writes one job as an object, the same in lists and alone.
void write_job(JsonWriter& json, const JobTable& table, const JobRow& row,
               const JobSight& sight = {});
std::string job_json(const JobTable& table, const JobRow& row, const JobSight& sight = {});

/// Of the task that was tried most often.
std::uint32_t newest_attempt(const JobRow& row);
/// What the user reads as the code of the whole job: that of the first task that failed. None as
/// long as it is not over, and where it was cancelled.
std::optional<std::int32_t> exit_code(const JobRow& row);

/// {"error":{"code":"not_found","message":"...","where":"...","hint":"..."}}
std::string error_json(const Error& error);
/// What stands behind "error" in it.
void write_error(JsonWriter& json, const Error& error);
std::string_view to_text(Code code);
/// The status of an answer that reports it.
int http_status(Code code);

}  // namespace tutti
