/// An engine that places the pods of a made-up cluster, in which others bind, delete and resize
/// them, news come late, and bindings fail. In the end what State holds is what the cluster has.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/kubernetes/kubernetes_backend.h"
#include "base/prng.h"
#include "engine/engine.h"

namespace tutti::cluster_chaos_test {

class Cluster {
 public:
  explicit Cluster(std::uint64_t seed)
      : prng_(seed, 9),
        factory_(builtin_policy("default").value()),
        backend_({}, [this](ClusterMirror::Binding each) { bindings_.push_back(std::move(each)); }),
        engine_(journal_, backend_, factory_) {
    for (int n = 0; n < 4; ++n) add_node();
    backend_.open();
  }

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      happen();
      if (prng_.chance(500)) answer_binding();
      while (!news_.empty() && prng_.chance(600)) deliver();
      if (prng_.chance(500)) turn();
    }
  }
  /// Nothing happens any more, and everything arrives.
  void heal() {
    faults_ = false;
    for (int round = 0; round < 200; ++round) {
      while (!news_.empty()) deliver();
      turn();
      while (!bindings_.empty()) answer_binding();
      clock_.us += Duration::seconds(60).us;  // No pause lasts for ever.
    }
  }

  /// What State says otherwise than the cluster; nothing where they agree.
  std::string difference() {
    const State& state = engine_.state();
    if (std::string wrong = state.verify(); !wrong.empty()) return wrong;
    for (const auto& [name, spec] : nodes_) {
      std::int64_t free = spec.capacity.front().amount;
      for (const auto& [uid, pod] : pods_) {
        if (pod.node == name) free -= pod.shape.resources.front().amount;
      }
      const auto index = state.fleet().find(name);
      if (!index) return "no node " + name;
      if (state.usage().free(*index, lane::cpu) == free) continue;
      return name + " has " + std::to_string(free) + " free, State says " +
             std::to_string(state.usage().free(*index, lane::cpu));
    }
    return waiting_that_fits();
  }
  int bound_by_us() const { return bound_by_us_; }

 private:
  std::string waiting_that_fits() const {
    for (const auto& [uid, pod] : pods_) {
      if (!pod.node.empty() || !pod.group.empty() || pod.scheduler != "tutti") continue;
      for (const auto& [name, spec] : nodes_) {
        const auto index = engine_.state().fleet().find(name);
        const std::int64_t free = engine_.state().usage().free(*index, lane::cpu);
        if (free >= pod.shape.resources.front().amount) return uid + " waits, and fits " + name;
      }
    }
    return {};
  }

  void happen() {
    switch (prng_.below(10)) {
      case 0:
        return add_node();
      case 1:
        return prng_.chance(100) ? remove_node() : list_anew();
      case 2:
      case 3:
      case 4:
        return create();
      case 5:
        return remove_pod();
      case 6:
        return others_bind();
      case 7:
        return resize();
      default:
        return go_on();
    }
  }

  void add_node() {
    if (nodes_.size() >= 6) return;
    const std::string name = "n" + std::to_string(next_++ % 8);
    if (nodes_.contains(name)) return;
    nodes_[name] = {.name = name, .capacity = {{"cpu", 8000}, {"pods", 110}}};
    tell([spec = nodes_[name]](ClusterMirror& to) { to.node(spec); });
  }
  /// What was bound there goes some time later.
  void remove_node() {
    if (nodes_.size() < 3) return;
    const auto gone = std::next(nodes_.begin(), static_cast<int>(prng_.below(nodes_.size())));
    const std::string name = gone->first;
    nodes_.erase(gone);
    tell([name](ClusterMirror& to) { to.node_gone(name); });
    std::vector<std::string> uids;
    for (const auto& [uid, pod] : pods_) {
      if (pod.node == name) uids.push_back(uid);
    }
    for (const std::string& uid : uids) erase(uid);
  }
  void create() {
    if (pods_.size() > 40) return;
    PodRecord pod{.name = "p" + std::to_string(next_++), .space = "ml"};
    pod.uid = "uid-" + pod.name;
    pod.scheduler = prng_.chance(700) ? "tutti" : "default-scheduler";
    pod.shape.resources = {{"cpu", prng_.between(1, 4) * 1000}};
    if (prng_.chance(300)) {
      pod.group = "g" + std::to_string(prng_.below(4));
      pod.group_min = static_cast<std::uint32_t>(prng_.between(1, 3));
    }
    pods_[pod.uid] = pod;
    show(pod);
  }
  PodRecord* any_pod() {
    if (pods_.empty()) return nullptr;
    return &std::next(pods_.begin(), static_cast<int>(prng_.below(pods_.size())))->second;
  }
  void remove_pod() {
    if (const PodRecord* const pod = any_pod()) erase(std::string(pod->uid));
  }
  void erase(const std::string& uid) {
    pods_.erase(uid);
    tell([uid](ClusterMirror& to) { to.pod_gone(uid); });
  }
  void others_bind() {
    PodRecord* const pod = any_pod();
    if (pod == nullptr || !pod->node.empty() || nodes_.empty()) return;
    pod->node = std::next(nodes_.begin(), static_cast<int>(prng_.below(nodes_.size())))->first;
    show(*pod);
  }
  void resize() {
    PodRecord* const pod = any_pod();
    if (pod == nullptr || pod->node.empty()) return;
    pod->shape.resources = {{"cpu", prng_.between(1, 4) * 1000}};
    show(*pod);
  }
  void go_on() {
    PodRecord* const pod = any_pod();
    if (pod == nullptr || pod->node.empty()) return;
    if (pod->phase == PodPhase::pending) {
      pod->phase = PodPhase::running;
      return show(*pod);
    }
    pod->phase = prng_.chance(500) ? PodPhase::succeeded : PodPhase::failed;
    show(*pod);
    pods_.erase(std::string(pod->uid));
  }
  /// The watch broke: what it had not brought yet comes by a list, in another order.
  void list_anew() {
    news_.clear();
    tell([](ClusterMirror& to) { to.begin_pods(); });
    for (const auto& [uid, pod] : pods_) show(pod);
    tell([](ClusterMirror& to) { to.end_pods(); });
    tell([](ClusterMirror& to) { to.begin_nodes(); });
    for (const auto& [name, spec] : nodes_) {
      tell([node = spec](ClusterMirror& to) { to.node(node); });
    }
    tell([](ClusterMirror& to) { to.end_nodes(); });
  }

  void show(const PodRecord& pod) {
    tell([pod](ClusterMirror& to) { to.pod(pod); });
    if (faults_ && prng_.chance(100)) tell([pod](ClusterMirror& to) { to.pod(pod); });
  }
  void tell(ClusterNews news) { news_.push_back(std::move(news)); }
  void deliver() {
    backend_.tell(std::move(news_.front()));
    news_.pop_front();
  }

  void answer_binding() {
    if (bindings_.empty()) return;
    const ClusterMirror::Binding binding = bindings_.front();
    bindings_.pop_front();
    const auto pod = pods_.find(binding.uid);
    const bool there = pod != pods_.end();
    if (there && !pod->second.node.empty()) return;  // The watch says where.
    if (!there || !nodes_.contains(binding.node) || (faults_ && prng_.chance(200))) {
      // Answers overtake watches.
      return backend_.tell(
          [binding](ClusterMirror& to) { to.refused(binding.task, binding.attempt, "no"); });
    }
    pod->second.node = binding.node;
    ++bound_by_us_;
    show(pod->second);
  }

  void turn() {
    const std::vector<Event> events = backend_.take_events();
    clock_.us += 1000;
    const auto step = engine_.step(events, clock_);
    ASSERT_TRUE(step);
    for (const Engine::Refused& refused : step->refused) {
      ADD_FAILURE() << name_of(events[refused.event]) << ": " << refused.why.what;
    }
  }

  Prng prng_;
  RecipeFactory factory_;
  NullJournal journal_;
  KubernetesBackend backend_;
  Engine engine_;
  Instant clock_{1};
  bool faults_ = true;
  int next_ = 0;
  int bound_by_us_ = 0;
  std::map<std::string, NodeSpec> nodes_;
  std::map<std::string, PodRecord> pods_;
  std::deque<ClusterNews> news_;
  std::deque<ClusterMirror::Binding> bindings_;
};

TEST(ClusterChaosTest, StateIsWhatTheClusterIs) {
  int bound = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Cluster cluster(seed);
    cluster.run(200);
    cluster.heal();
    ASSERT_EQ(cluster.difference(), "") << "seed " << seed;
    bound += cluster.bound_by_us();
  }
  EXPECT_GT(bound, 1000);
}

}  // namespace tutti::cluster_chaos_test
