/// A dump of a cluster: nodes, and pods gathered into jobs.
#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "base/limits.h"
#include "dialect/kubernetes.h"
#include "dialect/kubernetes_job.h"
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

/// Holds a card in the eyes of Kubernetes, while pods with annotations share it.
bool reserves_a_card(const PodRecord& pod) {
  return pod.space == "kai-resource-reservation" || pod.space == "runai-reservation";
}

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
      PodJob& draft = drafts_.front();
      const auto group = groups_.find({draft.space(), draft.group()});
      if (group != groups_.end()) draft.told_by(group->second.min, group->second.queue);
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
    PodJob& draft = drafts_[row->second];
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
  std::deque<PodJob> drafts_;
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
