/// Gangs whose nodes got other labels while they stood there: what had to be close when it was
/// placed may be apart since, and nobody moves it. So may what joined it later.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "model/state.h"

namespace tutti {

class Uprooted {
 public:
  /// To be told every event, before the state is. O(gangs that are uprooted), and O(gangs of the
  /// state) where a node is reported.
  void before(const State& state, const Event& event);

  /// Does the gang still hold what it held when it was uprooted, or joined until then?
  bool covers(const State& state, GangIndex gang) const;

 private:
  using Key = std::pair<JobId, std::uint32_t>;                         ///< A gang of a job.
  using Attempts = std::set<std::pair<std::uint32_t, std::uint32_t>>;  ///< Task of it, attempt.

  std::map<Key, Attempts> gangs_;
};

}  // namespace tutti
