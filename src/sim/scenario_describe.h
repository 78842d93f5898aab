/// Statements of a scenario that describe things: nodes, queues, jobs, policies; private to
/// scenario*.cpp. Each gives the events that tell the engine; what they hold is read by the dialect
/// of docs/formats.md.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "dialect/tutti_fleet.h"
#include "sim/scenario_names.h"

namespace tutti {

class ScenarioDescriptions {
 public:
  explicit ScenarioDescriptions(const Catalog* catalog)
      : catalog_(catalog), node_reader_(catalog) {}

  /// A fleet's file: nodes, topology, queues.
  Result<void> fleet(const Statement& statement, ScenarioStep& step);
  Result<void> nodes(const Statement& statement, ScenarioStep& step);
  /// Other fields of nodes that are known.
  Result<void> change(const Statement& statement, ScenarioStep& step);
  Result<void> topology(const Statement& statement, ScenarioStep& step);
  Result<void> queue(const Statement& statement, ScenarioStep& step);
  Result<void> mix(const Statement& statement);
  Result<void> submit(const Statement& statement, ScenarioStep& step);
  Result<PolicyRecipe> policy(const Statement& statement) const;

  ScenarioNames& names() { return names_; }

  /// Puts the jobs into the events that submit them, and the target mix before everything else.
  /// Checks what only the whole scenario tells.
  Result<void> finish(Scenario& scenario);

 private:
  Result<bool> add_node(Reader& reader, ScenarioStep& step);
  void declare(std::vector<TreeSpec> trees, ScenarioStep& step);
  void add_levels(const NodeSpec& node);
  Result<void> check_levels() const;
  Result<void> set_queues(const std::vector<QueueSpec>& queues, ScenarioStep& step);

  const Catalog* catalog_;
  NodeReader node_reader_;
  ScenarioNames names_;
  std::vector<Value> queue_entries_;  ///< As written; a later one of the same name replaces it.
  std::vector<Value> quotas_;         ///< The same, with those that were replaced.
  std::map<std::string, QueueSpec> queues_;
  std::set<std::string, std::less<>> levels_{"host"};  ///< Of the topology, and labels of nodes.
  std::vector<Mention> mentions_;                      ///< Of the jobs.
  std::vector<std::shared_ptr<JobSpec>> specs_;
  std::vector<ScenarioJob> jobs_;
  std::vector<MixSet::Entry> mix_;
  std::size_t tasks_ = 0;
};

}  // namespace tutti
