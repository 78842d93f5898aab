/// A dump of a cluster: nodes, and pods gathered into jobs.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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

/// Pods that are one job, in the order in which they were read.
struct JobDraft {
  std::string name;
  std::uint32_t min = 0;  ///< 0: all of them.
  std::vector<PodRecord> pods;
};

/// The role of a pod within its gang, in the words of the operators that make them.
std::string role_name(const PodRecord& pod) {
  for (const std::string_view key :
       {"volcano.sh/task-spec", "training.kubeflow.org/replica-type"}) {
    if (const std::string* const value = pod.labels.find(key)) return *value;
  }
  return "task";
}

/// Equal pods are one role; pods are put in the order of the roles.
std::vector<RoleSpec> roles_of(JobDraft& draft) {
  std::vector<RoleSpec> roles;
  std::vector<std::vector<PodRecord>> of_role;
  for (PodRecord& pod : draft.pods) {
    const std::string name = role_name(pod);
    const auto same = std::ranges::find_if(roles, [&](const RoleSpec& role) {
      return role.name == name && role.labels == pod.labels &&
             role.alternatives.front() == pod.shape;
    });
    const auto row = static_cast<std::size_t>(same - roles.begin());
    if (same == roles.end()) {
      roles.push_back({.name = name, .count = 0, .min = 0, .labels = pod.labels});
      roles.back().alternatives.push_back(std::move(pod.shape));
      of_role.emplace_back();
    }
    ++roles[row].count;
    of_role[row].push_back(std::move(pod));
  }
  draft.pods.clear();
  // A minimum of the gang as a whole is taken from its roles in their order.
  std::uint32_t left = draft.min == 0 ? limits::tasks_per_job : draft.min;
  for (RoleSpec& role : roles) {
    role.min = std::min(role.count, left);
    left -= role.min;
  }
  for (auto& pods : of_role) {
    for (PodRecord& pod : pods) draft.pods.push_back(std::move(pod));
  }
  return roles;
}

class SnapshotRead {
 public:
  SnapshotRead(Snapshot& out, const Catalog* catalog) : out_(out), catalog_(catalog) {}

  Result<void> take(const Value& object) {
    const Value* const kind = object.find("kind");
    if (kind == nullptr || !kind->is(Kind::text)) {
      return fail(Error{Code::invalid, "an object has no kind", object.place().text(), {}});
    }
    if (kind->text_value() == "Node") return take_node(object);
    if (kind->text_value() == "Pod") return take_pod(object);
    if (kind->text_value() == "PodGroup") return take_group(object);
    return {};
  }

  void finish() {
    for (JobDraft& draft : drafts_) add_job(draft);
    keep_selected_labels(specs_);
    for (std::size_t at = 0; at < specs_.size(); ++at) {
      out_.workload.jobs[at].spec = std::move(specs_[at]);
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
    out_.fleet.nodes.push_back(std::move(node));
    return {};
  }

  Result<void> take_pod(const Value& object) {
    PodRecord pod = TRY(decode_pod(object, catalog_));
    if (pod.ended()) return {};
    if (!pod_names_.emplace(pod.space, pod.name).second) {
      return fail(Error{Code::invalid,
                        fmt::format("pod {}/{} appears twice", pod.space, pod.name),
                        object.place().text(),
                        {}});
    }
    if (pod.group.empty()) {
      drafts_.push_back({.name = pod.name, .min = 0, .pods = {}});
      drafts_.back().pods.push_back(std::move(pod));
      return {};
    }
    const auto [row, fresh] = gangs_.try_emplace({pod.space, pod.group}, drafts_.size());
    if (fresh) drafts_.push_back({.name = pod.group, .min = 0, .pods = {}});
    JobDraft& draft = drafts_[row->second];
    if (draft.pods.size() >= limits::tasks_per_job) {
      return fail(Error{Code::limit,
                        fmt::format("the gang {}/{} has more than {} pods", pod.space, pod.group,
                                    limits::tasks_per_job),
                        object.place().text(),
                        {}});
    }
    draft.min = std::max(draft.min, pod.group_min);
    draft.pods.push_back(std::move(pod));
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

  void add_job(JobDraft& draft) {
    const PodRecord& first = draft.pods.front();
    auto spec = std::make_shared<JobSpec>();
    spec->name = draft.name;
    spec->space = first.space;
    spec->queue = first.queue;
    spec->labels = first.labels;
    spec->priority = first.priority;
    Submission submission{.spec = nullptr, .at = first.created};
    Snapshot::Standing standing;
    for (const PodRecord& pod : draft.pods) {
      spec->priority = std::max(spec->priority, pod.priority);
      submission.at = std::min(submission.at, pod.created);
      standing.gated |= pod.gated;
    }
    if (const auto group = groups_.find({first.space, first.group});
        group != groups_.end() && !first.group.empty()) {
      if (group->second.min > 0) draft.min = group->second.min;
      if (!group->second.queue.empty()) spec->queue = group->second.queue;
    }
    GangSpec gang;
    gang.groups.push_back({.closeness = {}, .copies = 1, .roles = roles_of(draft)});
    for (const PodRecord& pod : draft.pods) {
      standing.pods.push_back(pod.name);
      standing.nodes.push_back(pod.node);
    }
    spec->gangs.push_back(std::make_shared<const GangSpec>(std::move(gang)));
    submission.gpu_milli = gpu_milli_of(*spec);
    specs_.push_back(std::move(spec));
    out_.workload.jobs.push_back(std::move(submission));
    out_.standing.push_back(std::move(standing));
  }

  Snapshot& out_;
  const Catalog* catalog_;
  std::set<std::string, std::less<>> node_names_;
  std::set<GroupKey> pod_names_;
  std::map<GroupKey, std::size_t> gangs_;  ///< Rows of `drafts_`.
  std::map<GroupKey, GroupRecord> groups_;
  std::vector<JobDraft> drafts_;
  std::vector<std::shared_ptr<JobSpec>> specs_;
};

}  // namespace

Result<Snapshot> read_snapshot(Source source, std::string name, const Catalog* catalog,
                               Skipped& skipped) {
  Snapshot out;
  out.fleet.name = name;
  out.workload.name = std::move(name);
  SnapshotRead read(out, catalog);
  JsonItems items(std::move(source), "items");
  while (const std::optional<Value> object = TRY(items.next())) {
    const Result<void> done = read.take(*object);
    if (done) continue;
    if (skipped.lines >= skipped.allowed) return fail(done.error());
    if (skipped.lines++ == 0) skipped.first = done.error().text();
  }
  read.finish();
  return out;
}

}  // namespace tutti
