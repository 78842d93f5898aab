#include "backend/kubernetes/cluster_mirror.h"

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>

#include "base/check.h"
#include "base/hash.h"
#include "dialect/kubernetes_job.h"
#include "dialect/workload.h"

namespace tutti {
namespace {

/// Labels that each pod of an owner has with another value, so that no two pods would be equal. No
/// selector of pods is known to read them.
Labels common_labels(const Labels& labels) {
  constexpr std::array<std::string_view, 5> own{
      "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index",
      "batch.kubernetes.io/job-completion-index", "training.kubeflow.org/replica-index",
      "volcano.sh/task-index"};
  Labels out;
  for (const Label& label : labels.all()) {
    if (std::ranges::find(own, label.key) == own.end()) out.set(label.key, label.value);
  }
  return out;
}

std::uint64_t content_of(const PodRecord& pod) {
  Hash hash;
  hash.add(hash_of(pod.shape)).add(pod.group).add(pod.group_min).add(pod.queue);
  hash.add(static_cast<std::uint32_t>(pod.priority));
  for (const Label& label : pod.labels.all()) hash.add(label.key).add(label.value);
  return hash.value();
}

std::string uid_of(const PodRecord& pod) {
  return pod.uid.empty() ? pod.space + "/" + pod.name : pod.uid;
}

}  // namespace

bool ClusterMirror::may_wait(const PodRecord& pod) const {
  const bool ours = options_.schedulers.contains(pod.scheduler);
  return ours && pod.node.empty() && !pod.gated && !pod.terminating;
}

// --- Nodes --------------------------------------------------------------------------------------

void ClusterMirror::node(NodeSpec spec) {
  const auto [at, fresh] = nodes_.try_emplace(spec.name);
  Node& node = at->second;
  node.round = nodes_round_;
  if (!fresh && node.spec == spec) return;  // Its heartbeat.
  node.spec = std::move(spec);
  events_.emplace_back(NodeReported{node.spec});
  if (!fresh) return;
  const auto home = homeless_.extract(at->first);
  if (home.empty()) return;
  for (const std::string& uid : home.mapped()) take_in(uid, pods_.at(uid));
}

void ClusterMirror::node_gone(const std::string& name) {
  const auto at = nodes_.find(name);
  if (at == nodes_.end()) return;
  const std::set<std::string> uids = std::move(at->second.pods);
  nodes_.erase(at);
  for (const std::string& uid : uids) {
    Pod& pod = pods_.at(uid);
    if (pod.stage == Stage::ordered) {
      set_stage(pod, Stage::waiting);  // State says the same, by itself.
      continue;
    }
    end(uid, pod);
    homeless_[name].insert(uid);
  }
  events_.emplace_back(NodeLost{name});
}

void ClusterMirror::end_nodes() {
  std::vector<std::string> gone;
  for (const auto& [name, node] : nodes_) {
    if (node.round != nodes_round_) gone.push_back(name);
  }
  for (const std::string& name : gone) node_gone(name);
}

// --- Pods ---------------------------------------------------------------------------------------

void ClusterMirror::pod(PodRecord record) {
  const std::string uid = uid_of(record);
  if (record.ended()) return pod_gone(uid);
  const auto [at, fresh] = pods_.try_emplace(uid);
  Pod& pod = at->second;
  pod.round = pods_round_;
  switch (pod.stage) {
    case Stage::aside:
      leave_home(uid, pod);
      pod.content = content_of(record);
      pod.record = std::move(record);
      return take_in(uid, pod);
    case Stage::waiting:
    case Stage::ordered:
      return changed_while_waiting(uid, pod, std::move(record));
    case Stage::bound:
    case Stage::running:
      return changed_while_bound(uid, pod, std::move(record));
  }
}

void ClusterMirror::take_in(const std::string& uid, Pod& pod) {
  CHECK(pod.stage == Stage::aside && !pod.task, uid);
  const PodRecord& record = pod.record;
  if (!record.node.empty()) {
    if (!nodes_.contains(record.node)) {
      homeless_[record.node].insert(uid);
      return;
    }
    submit(record.name, {uid}, 1);
    return note_bound(uid, pod);
  }
  if (!may_wait(record)) return;
  set_stage(pod, Stage::waiting);
  if (record.group.empty()) {
    fresh_.insert(uid);
  } else {
    groups_[group_of(record)].waiting.insert(uid);
    changed_.insert(group_of(record));
  }
}

void ClusterMirror::changed_while_waiting(const std::string& uid, Pod& pod, PodRecord record) {
  const std::uint64_t content = content_of(record);
  if (pod.task && content == pod.content && nodes_.contains(record.node)) {
    pod.record = std::move(record);
    leave_group(pod);
    return note_bound(uid, pod);
  }
  const bool stays = may_wait(record) && (content == pod.content || pod.stage == Stage::ordered);
  if (!stays) {
    pod.stage == Stage::ordered ? end(uid, pod) : withdraw(uid, pod);
  }
  pod.record = std::move(record);
  if (stays) return;
  pod.content = content;
  take_in(uid, pod);
}

void ClusterMirror::changed_while_bound(const std::string& uid, Pod& pod, PodRecord record) {
  const std::uint64_t content = content_of(record);
  if (content != pod.content || record.node != pod.record.node) {
    // It was resized, or has other labels: what it holds is another amount, or another name.
    end(uid, pod);
    pod.content = content;
    pod.record = std::move(record);
    return take_in(uid, pod);
  }
  pod.record = std::move(record);
  note_running(pod);
}

void ClusterMirror::note_bound(const std::string& uid, Pod& pod) {
  if (pod.stage == Stage::ordered) leave_node(pod.target, uid);
  nodes_.at(pod.record.node).pods.insert(uid);
  if (pod.stage != Stage::ordered || pod.target != pod.record.node) {
    events_.emplace_back(TaskBound{*pod.task, pod.record.node});
    ++pod.attempt;
  }
  set_stage(pod, Stage::bound);
  note_running(pod);
}

void ClusterMirror::note_running(Pod& pod) {
  if (pod.stage != Stage::bound || pod.record.phase != PodPhase::running) return;
  events_.emplace_back(TaskStarted{*pod.task, pod.attempt});
  set_stage(pod, Stage::running);
}

void ClusterMirror::withdraw(const std::string& uid, Pod& pod) {
  const GroupKey key = group_of(pod.record);
  if (!pod.record.group.empty()) {
    // Of a job that has begun to be placed, the task is done when its turn comes.
    if (groups_[key].waiting.erase(uid) > 0) changed_.insert(key);
  } else if (pod.task) {
    events_.emplace_back(JobCancelled{pod.task->job});
  } else {
    fresh_.erase(uid);
  }
  set_stage(pod, Stage::aside);
  forget_task(pod);
}

/// However it ended: what follows for the others is the business of who made them, and a task that
/// failed would end its gang.
void ClusterMirror::end(const std::string& uid, Pod& pod) {
  events_.emplace_back(TaskExited{*pod.task, pod.attempt});
  leave_node(pod.stage == Stage::ordered ? pod.target : pod.record.node, uid);
  set_stage(pod, Stage::aside);
  forget_task(pod);
}

void ClusterMirror::pod_gone(const std::string& uid) {
  const auto at = pods_.find(uid);
  if (at == pods_.end()) return;
  Pod& pod = at->second;
  if (pod.stage == Stage::waiting) {
    withdraw(uid, pod);
  } else if (pod.stage != Stage::aside) {
    end(uid, pod);
  }
  leave_home(uid, pod);
  pods_.erase(at);
}

void ClusterMirror::end_pods() {
  std::vector<std::string> gone;
  for (const auto& [uid, pod] : pods_) {
    if (pod.round != pods_round_) gone.push_back(uid);
  }
  for (const std::string& uid : gone) pod_gone(uid);
}

void ClusterMirror::set_stage(Pod& pod, Stage stage) {
  const bool stood = pod.stage >= Stage::ordered;
  const bool stands = stage >= Stage::ordered;
  pod.stage = stage;
  if (pod.record.group.empty() || stood == stands) return;
  const GroupKey key = group_of(pod.record);
  Group& group = groups_[key];
  group.standing += stands ? 1U : -1U;
  changed_.insert(key);  // Those that wait may lack fewer, or more.
}

void ClusterMirror::forget_task(Pod& pod) {
  if (pod.task) tasks_.erase(*pod.task);
  pod.task.reset();
  pod.attempt = 0;
}

void ClusterMirror::leave_node(const std::string& name, const std::string& uid) {
  if (const auto node = nodes_.find(name); node != nodes_.end()) node->second.pods.erase(uid);
}

void ClusterMirror::leave_home(const std::string& uid, const Pod& pod) {
  const auto home = homeless_.find(pod.record.node);
  if (home == homeless_.end()) return;
  home->second.erase(uid);
  if (home->second.empty()) homeless_.erase(home);
}

// --- Jobs ---------------------------------------------------------------------------------------

JobId ClusterMirror::submit(const std::string& name, const std::vector<std::string>& uids,
                            std::uint32_t min) {
  const JobId id(next_job_++);
  PodJob job(name, pods_.at(uids.front()).record);
  std::map<std::string, const std::string*> by_name;
  for (const std::string& uid : uids) {
    PodRecord record = pods_.at(uid).record;
    by_name.emplace(record.name, &uid);
    record.labels = common_labels(record.labels);
    record.node.clear();
    job.add(std::move(record));
  }
  job.told_by(min, {});
  Submission unused;
  Snapshot::Standing standing;
  const std::shared_ptr<JobSpec> spec = std::move(job).finish(unused, standing);
  give_labels({{spec}}, TaskLabels::all);
  for (std::uint32_t at = 0; at < standing.pods.size(); ++at) {
    const std::string& uid = *by_name.at(standing.pods[at]);
    pods_.at(uid).task = TaskId{id, at};
    tasks_.emplace(TaskId{id, at}, uid);
  }
  if (queues_.insert(spec->queue).second) events_.emplace_back(QueueSet{{.name = spec->queue}});
  events_.emplace_back(JobSubmitted{.id = id, .spec = spec, .request = {}});
  return id;
}

void ClusterMirror::submit_group(const GroupKey& key) {
  Group& group = groups_[key];
  if (group.job) {
    events_.emplace_back(JobCancelled{*group.job});
    group.job.reset();
    for (const std::string& uid : group.waiting) forget_task(pods_.at(uid));
  }
  if (group.waiting.empty()) {
    if (group.standing == 0) groups_.erase(key);
    return;
  }
  std::uint32_t min = 0;
  std::vector<std::string> uids(group.waiting.begin(), group.waiting.end());
  for (const std::string& uid : uids) min = std::max(min, pods_.at(uid).record.group_min);
  if (uids.size() + group.standing < min) return;  // The others are still to come.
  std::ranges::sort(uids, {}, [&](const std::string& uid) { return pods_.at(uid).record.name; });
  const auto all = static_cast<std::uint32_t>(uids.size());
  const std::uint32_t left = min > group.standing ? min - group.standing : 1;
  group.job = submit(key.second, uids, min == 0 ? all : left);
}

void ClusterMirror::leave_group(const Pod& pod) {
  if (pod.record.group.empty()) return;
  Group& group = groups_[group_of(pod.record)];
  if (group.job != pod.task->job) return;
  group.job.reset();
  group.waiting.clear();
}

std::vector<Event> ClusterMirror::take() {
  // The engine takes what came first first.
  std::vector<std::tuple<Instant, std::string, GroupKey>> order;
  for (const std::string& uid : std::exchange(fresh_, {})) {
    order.emplace_back(pods_.at(uid).record.created, uid, GroupKey());
  }
  for (const GroupKey& key : std::exchange(changed_, {})) {
    Instant oldest{INT64_MAX};
    for (const std::string& uid : groups_[key].waiting) {
      oldest = std::min(oldest, pods_.at(uid).record.created);
    }
    order.emplace_back(oldest, std::string(), key);
  }
  std::ranges::sort(order);
  for (const auto& [created, uid, key] : order) {
    uid.empty() ? submit_group(key)
                : static_cast<void>(submit(pods_.at(uid).record.name, {uid}, 1));
  }
  return std::exchange(events_, {});
}

// --- Orders -------------------------------------------------------------------------------------

std::optional<ClusterMirror::Binding> ClusterMirror::order(const Action& place,
                                                           const std::string& node) {
  const auto known = tasks_.find(place.task);
  if (known == tasks_.end()) {
    // Its pod has gone while others of its job got places: nothing is left to do.
    events_.emplace_back(TaskExited{place.task, place.attempt});
    return std::nullopt;
  }
  Pod& pod = pods_.at(known->second);
  if (pod.stage == Stage::running) events_.emplace_back(TaskStarted{place.task, pod.attempt});
  if (pod.stage != Stage::waiting) return std::nullopt;
  leave_group(pod);
  set_stage(pod, Stage::ordered);
  pod.attempt = place.attempt;
  pod.target = node;
  nodes_.at(node).pods.insert(known->second);
  return Binding{.task = place.task,
                 .attempt = place.attempt,
                 .space = pod.record.space,
                 .pod = pod.record.name,
                 .uid = pod.record.uid,
                 .node = node};
}

void ClusterMirror::refused(const TaskId& task, std::uint32_t attempt, std::string reason) {
  const auto known = tasks_.find(task);
  if (known == tasks_.end()) return;
  Pod& pod = pods_.at(known->second);
  if (pod.stage != Stage::ordered || pod.attempt != attempt) return;
  leave_node(pod.target, known->second);
  set_stage(pod, Stage::waiting);
  events_.emplace_back(TaskRefused{task, attempt, std::move(reason)});
}

std::vector<Backend::Observed> ClusterMirror::observe() const {
  std::vector<Backend::Observed> out;
  for (const auto& [task, uid] : tasks_) {
    const Pod& pod = pods_.at(uid);
    if (pod.stage < Stage::ordered) continue;
    out.push_back({.task = task, .attempt = pod.attempt, .running = true});
  }
  return out;
}

std::string ClusterMirror::pod_of(const TaskId& task) const {
  const auto known = tasks_.find(task);
  if (known == tasks_.end()) return {};
  const PodRecord& record = pods_.at(known->second).record;
  return record.space + "/" + record.name;
}

}  // namespace tutti
