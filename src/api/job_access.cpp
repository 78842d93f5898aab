#include "api/job_access.h"

#include "api/query.h"

namespace tutti {
namespace {

std::string who_may(const JobRow& row, Deed deed) {
  const std::string& owner = row.spec->user;
  if (deed == Deed::change) {
    return owner + ", operators of queue " + row.spec->queue + " and administrators may change it";
  }
  return owner + " and administrators may " +
         (deed == Deed::read ? "read what it prints" : "sit at it");
}

}  // namespace

bool may(const User& user, const JobSpec& job, Deed deed) {
  if (user.role == Role::anybody || !user.sees(job.queue)) return false;
  if (deed == Deed::see || user.role == Role::admin) return true;
  if (deed == Deed::change && user.role == Role::operator_) return true;
  return user.owns(job.user) && (deed == Deed::read || user.role >= Role::user);
}

const JobRow* visible_job(const User& user, const JobTable& jobs, std::string_view id) {
  const auto number = natural(id);
  const JobRow* const row = number ? jobs.find(JobId(*number)) : nullptr;
  return row != nullptr && may(user, *row->spec, Deed::see) ? row : nullptr;
}

const JobRow* job_for(Call& call, const JobTable& jobs, Deed deed) {
  const JobRow* const row = visible_job(call.user, jobs, call.parts[0]);
  if (row == nullptr) {
    const auto id = natural(call.parts[0]);
    if (id && jobs.forgot(JobId(*id))) {
      call.refuse(
          {Code::not_found,
           "job " + call.parts[0] + " ended and is forgotten by now, or was refused when it came",
           {},
           "ttl says how long a job is shown after its end, and --keep-ended of the server"});
      return nullptr;
    }
    call.refuse({Code::not_found, "no job " + call.parts[0], {}, "tutti jobs lists them"});
    return nullptr;
  }
  if (may(call.user, *row->spec, deed)) return row;
  call.refuse({Code::denied,
               "job " + call.parts[0] + " belongs to " + row->spec->user,
               {},
               who_may(*row, deed)});
  return nullptr;
}

}  // namespace tutti
