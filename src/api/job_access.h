/// The one place where it is decided who may do what with a job.
#pragma once

#include <cstdint>

#include "api/job_table.h"
#include "api/router.h"

namespace tutti {

/// What somebody would do with a job.
enum class Deed : std::uint8_t {
  see,     ///< That it is there, and how it fares.
  change,  ///< Its fate.
  read,    ///< What it prints.
  attend,  ///< Sit at it.
};

/// The job that the first part of the call's path names, if the asker may do that with it. Else
/// the call is answered, and there is none.
const JobRow* job_for(Call& call, const JobTable& jobs, Deed deed);

}  // namespace tutti
