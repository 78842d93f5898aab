/// How many jobs of one user may wait and run at a time. Belongs to the readers' thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "api/job_table.h"
#include "base/result.h"

namespace tutti {

class JobQuota {
 public:
  /// For one more job, which is on its way to the table for as long as somebody holds it.
  using Place = std::shared_ptr<void>;

  /// The table must outlive the quota.
  JobQuota(const JobTable& jobs, std::uint64_t most) : jobs_(jobs), most_(most) {}
  Result<Place> take(const std::string& owner);

 private:
  const JobTable& jobs_;
  std::uint64_t most_;
  using Counts = std::map<std::string, std::uint64_t>;
  std::shared_ptr<Counts> on_their_way_ = std::make_shared<Counts>();
};

}  // namespace tutti
