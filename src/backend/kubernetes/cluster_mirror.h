/// What an API server shows of a cluster, in the words of the engine; and the engine's orders in
/// the words of the API server.
///
/// - Nodes become NodeReported, where something changed that bears on placement; a node that goes
///   takes the tasks of its pods along, and pods on nodes that are not known yet wait for these.
/// - Pods that name one of our schedulers, are bound nowhere and are not gated are jobs that wait:
///   those of a group one job, as soon as its minimum is there. While nothing of it is ordered, a
///   group's job is made anew whenever its pods change.
/// - Whatever is bound holds what it asks for, whoever bound it: TaskBound.
/// - An order becomes a binding once; the pod's own news say what came of it.
///
/// No thread, clock or socket; belongs to the engine's thread. A call costs O(log pods), and O(pods
/// of the group) where a job is made anew.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dialect/kubernetes.h"
#include "engine/backend.h"

namespace tutti {

class ClusterMirror {
 public:
  struct Options {
    std::set<std::string, std::less<>> schedulers{"tutti"};  ///< Whose pods are ours to place.
  };
  explicit ClusterMirror(Options options) : options_(std::move(options)) {}

  // --- What the API server shows ---

  /// All of them follow; until `end_` comes. What was not named between has gone.
  void begin_nodes() { ++nodes_round_; }
  void end_nodes();
  void begin_pods() { ++pods_round_; }
  void end_pods();

  void node(NodeSpec node);
  void node_gone(const std::string& name);
  void pod(PodRecord pod);
  void pod_gone(const std::string& uid);

  /// What that means, in the order in which it is to be applied. Nothing is said twice.
  std::vector<Event> take();

  // --- What the engine orders ---

  struct Binding {
    TaskId task;
    std::uint32_t attempt = 0;
    std::string space;
    std::string pod;
    std::string uid;
    std::string node;
    friend bool operator==(const Binding&, const Binding&) = default;
  };
  /// None where nothing is to be done: it is under way, or the pod has gone or is bound by now.
  std::optional<Binding> order(const Action& place, const std::string& node);
  /// The pod was surely not bound.
  void refused(const TaskId& task, std::uint32_t attempt, std::string reason);
  std::vector<Backend::Observed> observe() const;

  /// "ml/train-0", or nothing where the task is of no pod any more.
  std::string pod_of(const TaskId& task) const;
  std::size_t pods() const { return pods_.size(); }

 private:
  enum class Stage : std::uint8_t {
    aside,    ///< Not ours to place, or not yet; or on a node that is not known.
    waiting,  ///< Ours to place.
    ordered,  ///< Told to be bound.
    bound,
    running,
  };
  struct Pod {
    PodRecord record;
    Stage stage = Stage::aside;
    std::optional<TaskId> task;  ///< None while it is aside, or its job is still to be made.
    std::uint32_t attempt = 0;   ///< The newest one of its task.
    std::string target;          ///< ordered: where.
    std::uint64_t content = 0;   ///< Of what its job is made of.
    std::uint64_t round = 0;
  };
  using GroupKey = std::pair<std::string, std::string>;
  struct Group {
    std::set<std::string> waiting;  ///< Uids.
    std::uint32_t standing = 0;     ///< Pods that are ordered, bound or running.
    std::optional<JobId> job;       ///< That waits, of all of `waiting`; nothing of it is ordered.
  };
  struct Node {
    NodeSpec spec;
    std::set<std::string> pods;  ///< Uids of what is bound there, or ordered to be.
    std::uint64_t round = 0;
  };

  bool may_wait(const PodRecord& pod) const;
  /// From `aside` to wherever its record says that it is. REQUIRES: it has no task.
  void take_in(const std::string& uid, Pod& pod);
  void changed_while_waiting(const std::string& uid, Pod& pod, PodRecord record);
  void changed_while_bound(const std::string& uid, Pod& pod, PodRecord record);
  /// It is bound to a node that is known. REQUIRES: it has a task.
  void note_bound(const std::string& uid, Pod& pod);
  void note_running(Pod& pod);
  /// It waits no longer; what was made of it is taken back. Then it is aside.
  void withdraw(const std::string& uid, Pod& pod);
  /// Its task is over; what it held is free. Then it is aside.
  void end(const std::string& uid, Pod& pod);
  void set_stage(Pod& pod, Stage stage);
  void forget_task(Pod& pod);
  void leave_node(const std::string& name, const std::string& uid);
  void leave_home(const std::string& uid, const Pod& pod);

  /// Something of its group's job gets a place: that job is not made anew any more.
  void leave_group(const Pod& pod);
  void submit_group(const GroupKey& key);
  JobId submit(const std::string& name, const std::vector<std::string>& uids, std::uint32_t min);
  static GroupKey group_of(const PodRecord& pod) { return {pod.space, pod.group}; }

  Options options_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, Pod> pods_;  ///< By uid.
  std::map<GroupKey, Group> groups_;
  std::map<TaskId, std::string> tasks_;                    ///< Uids.
  std::map<std::string, std::set<std::string>> homeless_;  ///< Uids by node that is not known.
  std::set<std::string> queues_{"default"};
  std::set<std::string> fresh_;  ///< Uids of pods without a group whose job is to be made ...
  std::set<GroupKey> changed_;   ///< ... and groups whose job is.
  std::uint64_t next_job_ = 1;
  std::uint64_t nodes_round_ = 0;
  std::uint64_t pods_round_ = 0;
  std::vector<Event> events_;
};

}  // namespace tutti
