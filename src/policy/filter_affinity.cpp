/// (Anti-)affinity between tasks: those that the task states, and those that running tasks state
/// against it.
#include <algorithm>

#include "policy/makers.h"
#include "sched/company.h"

namespace tutti {
namespace {

class AffinityFilter final : public Filter {
 public:
  std::string_view name() const override { return "task_affinity"; }
  Depends depends_on() const override { return Depends::everything; }

  bool concerns(const TaskClass& task) const override {
    // A task with labels may be what the anti-affinity of a running task is about.
    return !task.spec().labels.all().empty() ||
           std::ranges::any_of(task.spec().affinities, &TaskAffinity::required);
  }

  std::vector<Watch> watches(const TaskClass& task) const override {
    std::vector<Watch> out;
    const auto& terms = task.spec().affinities;
    for (std::size_t at = 0; at < terms.size(); ++at) {
      if (terms[at].required())
        out.push_back({static_cast<std::uint32_t>(at), terms[at].topology_key});
    }
    return out;
  }

  std::vector<Watch> counts(const TaskClass& task, const TaskShape& running) const override {
    std::vector<Watch> out;
    const auto& terms = task.spec().affinities;
    for (std::size_t at = 0; at < terms.size(); ++at) {
      if (!terms[at].required()) continue;
      if (!counts_for(terms[at].tasks, terms[at].namespaces, task.spec(), running)) continue;
      out.push_back({static_cast<std::uint32_t>(at), terms[at].topology_key});
    }
    for (const TaskAffinity& term : running.affinities) {
      if (!term.anti || !term.required()) continue;
      if (!counts_for(term.tasks, term.namespaces, running, task.spec())) continue;
      const Watch objection{objections, term.topology_key};
      if (std::ranges::find(out, objection) == out.end()) out.push_back(objection);
    }
    return out;
  }

  bool opened_by_others(const TaskClass& task) const override {
    return std::ranges::any_of(task.spec().affinities, &TaskAffinity::needs_company);
  }

  bool shut_out(const TaskClass& task) const override {
    return std::ranges::any_of(task.tallies, [&](const Tally& tally) {
      const std::uint32_t row = tally.watch().number;
      if (&tally.owner() != this || row == objections) return false;
      return !task.spec().affinities[row].anti && tally.total() == 0 && !first(tally);
    });
  }

  Reject check(const TaskClass& task, const View&, NodeIndex node) const override {
    for (const Tally& tally : task.tallies) {
      if (&tally.owner() != this) continue;
      const std::uint32_t row = tally.watch().number;
      const bool present = tally.at(node) > 0;
      if (row == objections || task.spec().affinities[row].anti) {
        if (present) return {Reason::anti_affinity_broken, row == objections ? 0 : row};
      } else if (!present && !(first(tally) && tally.in_domain(node))) {
        return {Reason::affinity_unmet, row};
      }
    }
    return {};
  }

 private:
  /// Tasks that run with a term against this one, whatever the term.
  static constexpr std::uint32_t objections = UINT32_MAX;

  /// The first of a group that wants to be together may start anywhere.
  static bool first(const Tally& tally) { return tally.total() == 0 && tally.counts_self(); }
};

}  // namespace

std::unique_ptr<const Filter> make_task_affinity() { return std::make_unique<AffinityFilter>(); }

}  // namespace tutti
