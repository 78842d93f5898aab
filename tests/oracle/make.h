/// Small random worlds from seeds: a fleet with every oddity at once, some of it in use, and a gang
/// that wants a place in it.
///
/// Left out on purpose, because the engine does not claim to decide it exactly: two device requests
/// of one task that the same type of device could serve, and more than one required affinity of one
/// task, for which Kubernetes' words and its code differ.
#pragma once

#include <memory>

#include "base/prng.h"
#include "model/state.h"
#include "tests/oracle/world.h"

namespace tutti::oracle {

/// The same world twice: as the engine knows it, and as the oracle does.
struct Scene {
  State state;
  World world;
  std::vector<std::shared_ptr<const JobSpec>> specs;  ///< Keeps the shapes of `world` alive.
  JobId gang;                                         ///< The job that waits.
  std::shared_ptr<const JobSpec> wanted;              ///< Its spec: one gang.
  std::uint64_t next_job = 1;

  /// An event for both.
  void tell(const Event& event);
  /// Submits a job and places its only task there, by force.
  void occupy(const TaskShape& shape, std::size_t node, const std::vector<unsigned>& devices,
              const std::string& queue);
  std::vector<std::string> lanes() const;
  /// Submits another job in place of the gang's.
  void replace_gang(std::shared_ptr<const JobSpec> spec);

 private:
  Instant now_;
};

/// How far a world goes.
struct Knobs {
  unsigned nodes = 5;
  unsigned tasks = 1;         ///< Σ of minima of the gang, at most.
  bool labels_matter = true;  ///< Affinity and spread.
};

/// The scene of a seed, with its gang submitted.
Scene make_scene(std::uint64_t seed, const Knobs& knobs);

}  // namespace tutti::oracle
