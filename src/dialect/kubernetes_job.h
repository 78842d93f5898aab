/// Pods -> one job: a gang, or a pod that starts by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/kubernetes.h"

namespace tutti {

/// A job as far as its pods are known: of a pod only what the job will keep.
class PodJob {
 public:
  PodJob(std::string name, const PodRecord& first);

  std::size_t pods() const { return pods_; }
  const std::string& space() const { return spec_->space; }
  const std::string& group() const { return group_; }

  /// Equal pods are one role.
  void add(PodRecord pod);
  /// What its group says; 0 and nothing: it says nothing of that.
  void told_by(std::uint32_t min, const std::string& queue);

  /// The job, and its pods in the order of its tasks.
  std::shared_ptr<JobSpec> finish(Submission& submission, Snapshot::Standing& standing) &&;

 private:
  struct Pod {
    std::string name;
    std::string node;
    bool gated = false;
  };
  struct Role {
    RoleSpec spec;
    std::vector<Pod> pods;
  };

  /// A minimum of the gang as a whole may be met by any of its pods, a role has one of its own:
  /// those that run count first, then those that ask for the least, in whatever order they are
  /// listed.
  void share_minimum();
  /// Where some of a gang run already, those behind a gate are not waited for.
  void leave_out_gated();

  std::shared_ptr<JobSpec> spec_;
  std::string group_;
  std::uint32_t min_ = 0;  ///< 0: all of them.
  Instant created_;
  bool gated_ = false;
  bool runs_ = false;  ///< Some of its pods do.
  std::size_t pods_ = 0;
  std::vector<Role> roles_;
  std::multimap<std::uint64_t, std::size_t> known_;  ///< Rows of `roles_` by their contents.
};

}  // namespace tutti
