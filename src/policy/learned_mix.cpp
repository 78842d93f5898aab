#include "policy/learned_mix.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/mix.h"

namespace tutti {
namespace {

std::vector<MixSet::Entry> mix_of_arrivals(const State& state) {
  const std::vector<std::uint32_t>& counts = state.arrivals().counts();
  MixCounter counter;
  for (std::size_t at = 0; at < counts.size(); ++at) {
    counter.add(state.shape(ShapeIndex(at)).spec, counts[at]);
  }
  return counter.ranked(learned_classes_max);
}

bool drifted(const State& state, const std::vector<MixSet::Entry>& mix) {
  MixCounter now;
  for (const MixSet::Entry& entry : mix) now.add(entry.shape, entry.count);
  MixCounter known;
  for (const State::MixRow& row : state.mix()) known.add(state.shape(row.shape).spec, row.count);
  return now.distance_permille(known) >= learned_drift_permille;
}

}  // namespace

std::uint64_t next_epoch(std::uint64_t seen, std::uint32_t every) {
  std::uint64_t at = 1;
  while (at <= seen) {
    const std::uint64_t step = std::max<std::uint64_t>(at / 4, 1);
    if (step >= every) return at + ((seen - at) / every + 1) * every;
    at += step;
  }
  return at;
}

std::optional<MixSet> learned_mix(const State& state, std::uint64_t seen_before,
                                  std::uint32_t every) {
  const std::uint64_t seen = state.arrivals().seen();
  const bool passed = seen > seen_before && seen >= next_epoch(seen_before, every);
  if (state.mix_learned() && !passed) return std::nullopt;
  std::vector<MixSet::Entry> mix = mix_of_arrivals(state);
  if (state.mix_learned() && !drifted(state, mix)) return std::nullopt;
  return MixSet{.entries = std::move(mix), .learned = true};
}

}  // namespace tutti
