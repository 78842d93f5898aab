/// A count of running tasks by domain, kept current because a filter asks for it.
///
/// "No two of my tasks on a host", "as many in each zone": such rules look at other nodes, but only
/// through a few numbers. A Tally holds these numbers for one class and one question of a filter,
/// so that a decision reads them in O(1) and a placement changes them in O(1).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sched/domains.h"

namespace tutti {

class Filter;

/// One question: how many of the tasks that the filter has in mind run in each domain of a level?
struct Watch {
  std::uint32_t number = 0;  ///< The filter's own name for the question.
  std::string level;
  friend bool operator==(const Watch&, const Watch&) = default;
};

class Tally {
 public:
  Tally(const Filter& owner, Watch watch) : owner_(&owner), watch_(std::move(watch)) {}

  const Filter& owner() const { return *owner_; }
  const Watch& watch() const { return watch_; }

  /// Would a task of the class count itself?
  bool counts_self() const { return counts_self_; }
  void count_self() { counts_self_ = true; }

  /// Tasks in the domain of the node; 0 where it is in none.
  std::uint32_t at(NodeIndex node) const {
    const DomainIndex domain = domains_->of_node[node.value()];
    return domain.valid() ? counts_[domain.value()] : 0;
  }
  bool in_domain(NodeIndex node) const { return domains_->of_node[node.value()].valid(); }
  /// Tasks in all domains.
  std::uint64_t total() const { return total_; }
  /// Domains with a node that counts, and the fewest tasks in one of them; 0 without domains.
  std::uint32_t domains() const { return domain_count_; }
  std::uint32_t least() const { return least_; }

  /// No task anywhere. Nodes whose byte is 0 do not count; empty: all do. O(nodes).
  void reset(std::shared_ptr<const Domains> domains, std::vector<std::uint8_t> counted_nodes);
  /// So many more tasks on a node, or fewer. O(tasks added).
  void add(NodeIndex node, std::int64_t tasks);

 private:
  const Filter* owner_;
  Watch watch_;
  std::shared_ptr<const Domains> domains_;
  std::vector<std::uint8_t> counted_nodes_;
  std::vector<std::uint8_t> counted_domains_;
  std::vector<std::uint32_t> counts_;           ///< By domain.
  std::vector<std::uint32_t> domains_holding_;  ///< By count: domains that hold exactly so many.
  std::uint32_t domain_count_ = 0;
  std::uint32_t least_ = 0;
  std::uint64_t total_ = 0;
  bool counts_self_ = false;
};

}  // namespace tutti
