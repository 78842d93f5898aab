#include "dialect/kubernetes_job.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/hash.h"
#include "base/limits.h"
#include "dialect/kubernetes_read.h"

namespace tutti {
namespace {

/// The role of a pod within its gang, in the words of the operators that make them.
std::string role_name(const PodRecord& pod) {
  for (const std::string_view key :
       {"volcano.sh/task-spec", "training.kubeflow.org/replica-type"}) {
    if (const std::string* const value = pod.labels.find(key)) return *value;
  }
  return "task";
}

}  // namespace

PodJob::PodJob(std::string name, const PodRecord& first)
    : spec_(std::make_shared<JobSpec>()), group_(first.group), created_(first.created) {
  spec_->name = std::move(name);
  spec_->space = first.space;
  spec_->queue = first.queue;
  spec_->labels = first.labels;
  spec_->priority = first.priority;
}

void PodJob::add(PodRecord pod) {
  spec_->priority = std::max(spec_->priority, pod.priority);
  created_ = std::min(created_, pod.created);
  min_ = std::max(min_, pod.group_min);
  gated_ |= pod.gated;
  ++pods_;
  std::string name = role_name(pod);
  Hash hash;
  hash.add(name).add(hash_of(pod.shape));
  for (const Label& label : pod.labels.all()) hash.add(label.key).add(label.value);
  const auto [begin, end] = known_.equal_range(hash.value());
  const auto same = std::find_if(begin, end, [&](const auto& entry) {
    const RoleSpec& role = roles_[entry.second].spec;
    return role.name == name && role.labels == pod.labels && role.alternatives.front() == pod.shape;
  });
  const std::size_t row = same == end ? roles_.size() : same->second;
  if (same == end) {
    known_.emplace(hash.value(), row);
    roles_.push_back({.spec = {.name = std::move(name), .count = 0, .min = 0}, .pods = {}});
    roles_.back().spec.labels = std::move(pod.labels);
    roles_.back().spec.alternatives.push_back(std::move(pod.shape));
  }
  ++roles_[row].spec.count;
  runs_ |= !pod.node.empty();
  roles_[row].pods.push_back({std::move(pod.name), std::move(pod.node), pod.gated});
}

void PodJob::told_by(std::uint32_t min, const std::string& queue) {
  if (min > 0) min_ = min;
  if (!queue.empty()) spec_->queue = queue;
}

std::shared_ptr<JobSpec> PodJob::finish(Submission& submission, Snapshot::Standing& standing) && {
  GroupSpec group{.closeness = {}, .copies = 1, .roles = {}};
  if (runs_) leave_out_gated();
  share_minimum();
  for (Role& role : roles_) {
    group.roles.push_back(std::move(role.spec));
    for (Pod& pod : role.pods) {
      standing.pods.push_back(std::move(pod.name));
      standing.nodes.push_back(std::move(pod.node));
    }
  }
  GangSpec gang;
  gang.groups.push_back(std::move(group));
  spec_->gangs.push_back(std::make_shared<const GangSpec>(std::move(gang)));
  standing.gated = gated_ && !runs_;
  submission.at = created_;
  submission.gpu_milli = gpu_milli_of(*spec_);
  return std::move(spec_);
}

void PodJob::share_minimum() {
  std::vector<Role*> order;
  for (Role& role : roles_) order.push_back(&role);
  const auto cost = [](const Role* role) {
    const TaskShape& shape = role->spec.alternatives.front();
    std::int64_t milli = 0;
    for (const DeviceRequest& part : shape.devices) {
      milli += std::int64_t{part.count} * part.compute_permille;
    }
    const bool waits =
        std::ranges::all_of(role->pods, [](const Pod& pod) { return pod.node.empty(); });
    const auto cpu = std::ranges::find(shape.resources, "cpu", &NamedAmount::name);
    return std::tuple(waits, milli, cpu == shape.resources.end() ? 0 : cpu->amount);
  };
  std::ranges::stable_sort(order, {}, cost);
  std::uint32_t left = min_ == 0 ? limits::tasks_per_job : min_;
  for (Role* role : order) {
    role->spec.min = std::min(role->spec.count, left);
    left -= role->spec.min;
  }
}

void PodJob::leave_out_gated() {
  for (Role& role : roles_) {
    std::erase_if(role.pods, &Pod::gated);
    role.spec.count = static_cast<std::uint32_t>(role.pods.size());
  }
  std::erase_if(roles_, [](const Role& role) { return role.pods.empty(); });
}

}  // namespace tutti
