/// Whom a selector of tasks speaks of.
#pragma once

#include <string>
#include <vector>

#include "model/shape.h"

namespace tutti {

/// Does a running task count for a selector of `owner`? Namespaces must agree, where they are
/// known.
inline bool counts_for(const Selector& tasks, const std::vector<std::string>& namespaces,
                       const TaskShape& owner, const TaskShape& running) {
  bool same = namespaces.empty() ? running.space == owner.space : false;
  for (const std::string& name : namespaces) same = same || name == running.space || name == "*";
  return same && tasks.matches(running.labels);
}

/// Do tasks like `owner` meet its term among themselves?
inline bool is_company_to_itself(const TaskAffinity& term, const TaskShape& owner) {
  return counts_for(term.tasks, term.namespaces, owner, owner);
}

}  // namespace tutti
