/// The one place where it is decided who may do what with a job.
#pragma once

#include <cstdint>
#include <string>

#include "api/job_table.h"
#include "api/router.h"

namespace tutti {

/// What somebody would do with a job.
enum class Deed : std::uint8_t {
  see,     ///< That it is there, and how it fares: all whose queues it is in.
  change,  ///< Its fate: its owner and operators.
  read,    ///< What it runs and prints: its owner.
  attend,  ///< Sit at it: its owner.
};

/// Administrators may all of it. What is in none of somebody's queues is not there for him.
bool may(const User& user, const JobSpec& job, Deed deed);

/// None where it is not there for him.
const JobRow* visible_job(const User& user, const JobTable& jobs, std::string_view id);

/// The job that the first part of the call's path names, if the asker may do that with it. Else
/// the call is answered, and there is none.
const JobRow* job_for(Call& call, const JobTable& jobs, Deed deed);

}  // namespace tutti
