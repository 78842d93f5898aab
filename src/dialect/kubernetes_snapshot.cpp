/// A dump of a cluster: nodes, and pods gathered into jobs.
#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/hash.h"
#include "base/limits.h"
#include "dialect/kubernetes.h"
#include "dialect/kubernetes_read.h"
#include "format/json.h"
#include "format/text.h"

namespace tutti {
namespace {

using GroupKey = std::pair<std::string, std::string>;  ///< Namespace and name.

struct GroupRecord {
  std::uint32_t min = 0;
  std::string queue;
};

/// The role of a pod within its gang, in the words of the operators that make them.
std::string role_name(const PodRecord& pod) {
  for (const std::string_view key :
       {"volcano.sh/task-spec", "training.kubeflow.org/replica-type"}) {
    if (const std::string* const value = pod.labels.find(key)) return *value;
  }
  return "task";
}

/// Holds a card in the eyes of Kubernetes, while pods with annotations share it.
bool reserves_a_card(const PodRecord& pod) {
  return pod.space == "kai-resource-reservation" || pod.space == "runai-reservation";
}

/// A job as far as it has been read: of a pod only what the job will keep.
class JobDraft {
 public:
  JobDraft(std::string name, const PodRecord& first)
      : spec_(std::make_shared<JobSpec>()), group_(first.group) {
    spec_->name = std::move(name);
    spec_->space = first.space;
    spec_->queue = first.queue;
    spec_->labels = first.labels;
    spec_->priority = first.priority;
    created_ = first.created;
  }

  std::size_t pods() const { return pods_; }

  /// Equal pods are one role.
  void add(PodRecord pod) {
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
      return role.name == name && role.labels == pod.labels &&
             role.alternatives.front() == pod.shape;
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

  GroupKey group() const { return {spec_->space, group_}; }

  void told_by(const GroupRecord& group) {
    if (group.min > 0) min_ = group.min;
    if (!group.queue.empty()) spec_->queue = group.queue;
  }

  /// The job, and its pods in the order of its roles.
  std::shared_ptr<JobSpec> finish(Submission& submission, Snapshot::Standing& standing) && {
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
  void share_minimum() {
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

  /// Where some of a gang run already, those behind a gate are not waited for.
  void leave_out_gated() {
    for (Role& role : roles_) {
      std::erase_if(role.pods, &Pod::gated);
      role.spec.count = static_cast<std::uint32_t>(role.pods.size());
    }
    std::erase_if(roles_, [](const Role& role) { return role.pods.empty(); });
  }

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

class SnapshotRead {
 public:
  SnapshotRead(Snapshot& out, const Catalog* catalog) : out_(out), catalog_(catalog) {}

  Result<void> take(const Value& object) {
    const Value* const kind = object.find("kind");
    if (kind == nullptr || !kind->is(Kind::text)) {
      return fail(Error{Code::invalid, "an object has no kind", object.place().text(),
                        "items are nodes, pods and the like, as the API server shows them"});
    }
    if (kind->text_value() == "Node") return take_node(object);
    if (kind->text_value() == "Pod") return take_pod(object);
    if (kind->text_value() == "PodGroup") return take_group(object);
    return {};
  }

  void finish() {
    pod_names_.clear();
    gangs_.clear();
    out_.workload.jobs.reserve(drafts_.size());
    out_.standing.reserve(drafts_.size());
    std::vector<std::shared_ptr<JobSpec>> specs;
    specs.reserve(drafts_.size());
    for (; !drafts_.empty(); drafts_.pop_front()) {
      JobDraft& draft = drafts_.front();
      const auto group = groups_.find(draft.group());
      if (group != groups_.end()) draft.told_by(group->second);
      Submission& submission = out_.workload.jobs.emplace_back();
      specs.push_back(std::move(draft).finish(submission, out_.standing.emplace_back()));
    }
    for (std::size_t at = 0; at < specs.size(); ++at) share_cards(*specs[at], out_.standing[at]);
    give_labels(specs, TaskLabels::selected);
    for (std::size_t at = 0; at < specs.size(); ++at) {
      out_.workload.jobs[at].spec = std::move(specs[at]);
    }
    out_.workload.mix = mix_of(out_.workload.jobs);
  }

 private:
  Result<void> take_node(const Value& object) {
    NodeSpec node = TRY(decode_node(object, catalog_));
    if (!node_names_.insert(node.name).second) {
      return fail(Error{Code::invalid,
                        fmt::format("node {} appears twice", node.name),
                        object.place().text(),
                        {}});
    }
    for (const DeviceSpec& device : node.devices) {
      if (units_of(device.type) == 1) continue;
      sharing_.insert(node.name);
      const bool known = std::ranges::find(shared_, device.type) != shared_.end();
      if (!known) shared_.push_back(device.type);
    }
    out_.fleet.nodes.push_back(std::move(node));
    return {};
  }

  /// What the tasks take of cards that plugins let several share. What shares a card now is to
  /// share one elsewhere, too, before it gets one of its own.
  void share_cards(JobSpec& spec, const Snapshot::Standing& standing) const {
    if (shared_.empty()) return;
    const bool share = std::ranges::any_of(
        standing.nodes, [&](const std::string& node) { return sharing_.contains(node); });
    for (auto& gang : spec.gangs) {
      GangSpec changed = *gang;
      for (GroupSpec& group : changed.groups) {
        for (RoleSpec& role : group.roles) {
          role.alternatives = with_shared_cards(role.alternatives.front(), shared_);
          if (share) std::ranges::rotate(role.alternatives, role.alternatives.begin() + 1);
        }
      }
      gang = std::make_shared<const GangSpec>(std::move(changed));
    }
  }

  Result<void> take_pod(const Value& object) {
    PodRecord pod = TRY(decode_pod(object, catalog_));
    if (pod.ended() || reserves_a_card(pod)) return {};
    if (!pod_names_.emplace(pod.space, pod.name).second) {
      return fail(Error{Code::invalid,
                        fmt::format("pod {}/{} appears twice", pod.space, pod.name),
                        object.place().text(),
                        {}});
    }
    if (pod.group.empty()) {
      drafts_.emplace_back(pod.name, pod).add(std::move(pod));
      return {};
    }
    const auto [row, fresh] = gangs_.try_emplace({pod.space, pod.group}, drafts_.size());
    if (fresh) drafts_.emplace_back(pod.group, pod);
    JobDraft& draft = drafts_[row->second];
    if (draft.pods() >= limits::tasks_per_job) {
      return fail(Error{Code::limit,
                        fmt::format("the gang {}/{} has more than {} pods", pod.space, pod.group,
                                    limits::tasks_per_job),
                        object.place().text(),
                        {}});
    }
    draft.add(std::move(pod));
    return {};
  }

  Result<void> take_group(const Value& object) {
    Reader reader(object, "");
    const ObjectMeta meta = TRY(read_meta(reader));
    const auto spec = [](Reader& inner) -> Result<GroupRecord> {
      inner.ignore_rest();
      const auto min = TRY(inner.optional_integer("minMember", 0, limits::tasks_per_job));
      return GroupRecord{static_cast<std::uint32_t>(min.value_or(0)),
                         TRY(inner.optional_text("queue")).value_or("")};
    };
    Result<std::optional<GroupRecord>> record = reader.optional_object("spec", spec);
    if (!record) return fail(about(std::move(record).error(), "group", meta));
    if (*record) groups_[{meta.space, meta.name}] = **std::move(record);
    return {};
  }

  Snapshot& out_;
  const Catalog* catalog_;
  std::set<std::string, std::less<>> node_names_;
  std::set<GroupKey> pod_names_;
  std::map<GroupKey, std::size_t> gangs_;  ///< Rows of `drafts_`.
  std::map<GroupKey, GroupRecord> groups_;
  std::deque<JobDraft> drafts_;
  std::set<std::string, std::less<>> sharing_;  ///< Nodes with such cards.
  std::vector<DeviceType> shared_;  ///< Types of cards that stand for several units, each once.
};

}  // namespace

std::shared_ptr<const JobSpec> without_pods(const JobSpec& spec, const std::vector<bool>& keep) {
  JobSpec out = spec;
  std::size_t pod = 0;
  std::size_t left = 0;
  for (auto& gang : out.gangs) {
    GangSpec less = *gang;
    for (GroupSpec& group : less.groups) {
      for (RoleSpec& role : group.roles) {
        const std::uint32_t all = role.count;
        for (std::uint32_t at = 0; at < all; ++at) role.count -= keep[pod++] ? 0 : 1;
        role.min = std::min(role.min, role.count);
        left += role.count;
      }
      std::erase_if(group.roles, [](const RoleSpec& role) { return role.count == 0; });
    }
    gang = std::make_shared<const GangSpec>(std::move(less));
  }
  return left == 0 ? nullptr : std::make_shared<const JobSpec>(std::move(out));
}

void set_aside_elsewhere(Snapshot& snapshot) {
  std::set<std::string_view> known;
  for (const NodeSpec& node : snapshot.fleet.nodes) known.insert(node.name);
  std::vector<Submission> jobs;
  std::vector<Snapshot::Standing> standing;
  for (std::size_t at = 0; at < snapshot.standing.size(); ++at) {
    Snapshot::Standing& pods = snapshot.standing[at];
    Snapshot::Standing kept{.pods = {}, .nodes = {}, .gated = pods.gated};
    std::vector<bool> keep;
    for (std::size_t pod = 0; pod < pods.nodes.size(); ++pod) {
      keep.push_back(pods.nodes[pod].empty() || known.contains(pods.nodes[pod]));
      if (keep.back()) {
        kept.pods.push_back(std::move(pods.pods[pod]));
        kept.nodes.push_back(std::move(pods.nodes[pod]));
      } else {
        ++snapshot.elsewhere.pods;
        snapshot.elsewhere.nodes.insert(std::move(pods.nodes[pod]));
      }
    }
    Submission job = std::move(snapshot.workload.jobs[at]);
    if (kept.pods.size() < keep.size()) {
      job.spec = without_pods(*job.spec, keep);
      if (job.spec == nullptr) continue;
      job.gpu_milli = gpu_milli_of(*job.spec);
    }
    jobs.push_back(std::move(job));
    standing.push_back(std::move(kept));
  }
  snapshot.workload.jobs = std::move(jobs);
  snapshot.standing = std::move(standing);
  if (snapshot.elsewhere.pods > 0) snapshot.workload.mix = mix_of(snapshot.workload.jobs);
}

Result<Snapshot> read_snapshot(Source source, std::string name, const Catalog* catalog,
                               Skipped& skipped) {
  Snapshot out;
  out.fleet.name = name;
  out.workload.name = std::move(name);
  SnapshotRead read(out, catalog);
  JsonItems items(std::move(source), "items");
  while (const std::optional<Value> object = TRY(items.next())) {
    if (Result<void> done = read.take(*object); !done) {
      TRY(skipped.leave_out(std::move(done).error()));
    }
  }
  TRY(skipped.check());
  read.finish();
  return out;
}

}  // namespace tutti
