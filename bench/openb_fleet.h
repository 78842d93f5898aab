/// The fleet and the tasks of the benchmarks: nodes of eight accelerators of five models, and tasks
/// in the shapes of openb with their frequencies.
#pragma once

#include <memory>
#include <vector>

#include "base/prng.h"
#include "model/event.h"
#include "model/job.h"
#include "model/node.h"

namespace tutti::bench {

inline constexpr unsigned devices_per_node = 8;

/// Node number `number` of `nodes`, in one of eight zones.
NodeSpec openb_node(std::size_t number, std::size_t nodes);

/// Jobs of one task, drawn with the frequencies of openb. With apps, every fifth task belongs to
/// one: its tasks have one shape, stand on different hosts and evenly in the zones.
class OpenbTasks {
 public:
  explicit OpenbTasks(unsigned apps = 0);
  std::shared_ptr<const JobSpec> draw(Prng& prng) const;
  const MixSet& mix() const { return mix_; }

 private:
  std::size_t draw_shape(Prng& prng) const;

  MixSet mix_;
  std::vector<std::uint32_t> cumulative_;
  std::vector<std::shared_ptr<const JobSpec>> plain_;  ///< By shape.
  std::vector<std::shared_ptr<const JobSpec>> apps_;
};

}  // namespace tutti::bench
