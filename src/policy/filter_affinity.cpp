/// (Anti-)affinity between tasks: those that the task states, and those that running tasks state
/// against it.
#include "policy/domains.h"
#include "policy/makers.h"

namespace tutti {
namespace {

/// What one term means for this task now: where matching tasks are.
struct TermCounts {
  const TaskAffinity* term = nullptr;
  std::uint32_t row = 0;
  DomainCounts counts;
  bool nowhere = true;  ///< No running task matches.
};

class AffinityFilter final : public Filter {
 public:
  std::string_view name() const override { return "task_affinity"; }
  Depends depends_on() const override { return Depends::everything; }

  bool concerns(const TaskClass& task) const override {
    // A task with labels may be what the anti-affinity of a running task is about.
    if (!task.spec().labels.all().empty()) return true;
    for (const TaskAffinity& term : task.spec().affinities) {
      if (term.weight == 0) return true;
    }
    return false;
  }

  Reject check(const TaskClass& task, const View& view, NodeIndex node) const override {
    return check_with(task, view, node, count(task, view), forbidden(task, view));
  }

  void narrow(const TaskClass& task, const View& view,
              std::vector<NodeIndex>& nodes) const override {
    const std::vector<TermCounts> terms = count(task, view);
    const std::vector<Forbidden> others = forbidden(task, view);
    std::erase_if(
        nodes, [&](NodeIndex node) { return !check_with(task, view, node, terms, others).ok(); });
  }

 private:
  /// A domain from which a running task keeps this one away.
  struct Forbidden {
    std::string_view key;
    std::string_view domain;
  };

  static std::vector<TermCounts> count(const TaskClass& task, const View& view) {
    std::vector<TermCounts> out;
    const auto& terms = task.spec().affinities;
    for (std::size_t at = 0; at < terms.size(); ++at) {
      if (terms[at].weight != 0) continue;
      TermCounts counts{.term = &terms[at], .row = static_cast<std::uint32_t>(at)};
      counts.counts = count_by_domain(view, terms[at].topology_key, terms[at].tasks,
                                      terms[at].namespaces, task.spec());
      for (const auto& [domain, number] : counts.counts) counts.nowhere &= number == 0;
      out.push_back(std::move(counts));
    }
    return out;
  }

  static std::vector<Forbidden> forbidden(const TaskClass& task, const View& view) {
    std::vector<Forbidden> out;
    for (std::size_t at = 0; at < view.fleet().size(); ++at) {
      const NodeIndex node(at);
      for (const Usage::ShapeCount& count : view.usage.shapes(node)) {
        const TaskShape& running = view.state.shape(count.shape).spec;
        for (const TaskAffinity& term : running.affinities) {
          if (!term.anti || term.weight != 0) continue;
          if (!counts_for(term.tasks, term.namespaces, running, task.spec())) continue;
          const std::string_view domain = domain_name(view.fleet().node(node), term.topology_key);
          if (!domain.empty()) out.push_back({term.topology_key, domain});
        }
      }
    }
    return out;
  }

  static Reject check_with(const TaskClass& task, const View& view, NodeIndex index,
                           const std::vector<TermCounts>& terms,
                           const std::vector<Forbidden>& others) {
    const Node& node = view.fleet().node(index);
    for (const TermCounts& each : terms) {
      const std::string_view domain = domain_name(node, each.term->topology_key);
      const auto found = each.counts.find(domain);
      const bool present = found != each.counts.end() && found->second > 0;
      if (each.term->anti) {
        if (present && !domain.empty()) return {Reason::anti_affinity_broken, each.row};
        continue;
      }
      if (present) continue;
      // The first of a group that wants to be together may start anywhere.
      const bool first =
          each.nowhere && !domain.empty() &&
          counts_for(each.term->tasks, each.term->namespaces, task.spec(), task.spec());
      if (!first) return {Reason::affinity_unmet, each.row};
    }
    for (const Forbidden& other : others) {
      if (domain_name(node, other.key) == other.domain) return {Reason::anti_affinity_broken};
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<const Filter> make_task_affinity() { return std::make_unique<AffinityFilter>(); }

}  // namespace tutti
