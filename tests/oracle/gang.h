/// Whether a gang can start, by trying everything; and whether what was placed is allowed.
///
/// An assignment gives tasks nodes, alternatives and devices one after the other; each must be
/// allowed when its turn comes. Where no task's fate depends on the order, one order is tried.
#pragma once

#include <vector>

#include "tests/oracle/world.h"

namespace tutti::oracle {

/// A role of one copy of a group.
struct Role {
  const RoleSpec* spec = nullptr;
  std::size_t group = 0;
  std::size_t first_task = 0;
};

/// A gang's groups with their copies side by side.
struct Gang {
  std::string queue;
  Closeness closeness;
  std::vector<Closeness> groups;
  std::vector<Role> roles;
  std::size_t minimum = 0;  ///< Σ of the roles' minima.
  /// Closenesses that are only wished for: the gang's, then the groups' in order.
  std::size_t wishes() const;
};

Gang gang_of(const JobSpec& job);

/// Is there an assignment of all minima in which the first `wishes` wishes come true? With no
/// minimum at all: can any task be placed?
bool can_start(const World& world, const Gang& gang, std::size_t wishes);

struct Placed {
  std::size_t role = 0;
  const TaskShape* shape = nullptr;
  std::size_t node = 0;
  std::vector<unsigned> devices;
};

/// What is wrong with this placement as a whole, or nothing. `wishes` as above.
std::string wrong_with(const World& world, const Gang& gang, const std::vector<Placed>& placed,
                       std::size_t wishes);

/// Could one more task of an elastic role be placed beside these?
bool can_grow(const World& world, const Gang& gang, const std::vector<Placed>& placed);

std::string to_text(const Gang& gang);

}  // namespace tutti::oracle
