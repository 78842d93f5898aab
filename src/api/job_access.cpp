#include "api/job_access.h"

#include "api/query.h"

namespace tutti {

const JobRow* job_for(Call& call, const JobTable& jobs, Deed deed) {
  const auto id = natural(call.parts[0]);
  const JobRow* const row = id ? jobs.find(JobId(*id)) : nullptr;
  if (row == nullptr) {
    call.refuse({Code::not_found, "no job " + call.parts[0], {}, "tutti jobs lists them"});
    return nullptr;
  }
  if (deed == Deed::see || call.may_touch(row->spec->user)) return row;
  call.refuse({Code::denied, "job " + call.parts[0] + " belongs to " + row->spec->user, {}, {}});
  return nullptr;
}

}  // namespace tutti
