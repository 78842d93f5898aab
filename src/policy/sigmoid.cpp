#include "policy/sigmoid.h"

#include <algorithm>

#include "base/check.h"

namespace tutti {
namespace {

/// 10^9 ln(L / (100 - L)) for L = 51 ... 99, rounded up: where 100 / (1 + exp(-x)) reaches L.
constexpr std::array<std::int64_t, 49> upper_half{
    40005335,   80042708,   120144312,  160342651,  200670696,  241162057,  281851153,
    322773393,  363965378,  405465109,  447312219,  489548226,  532216814,  575364145,
    619039209,  663294218,  708185058,  753771803,  800119301,  847297861,  895384048,
    944461609,  994622576,  1045968556, 1098612289, 1152679510, 1208311206, 1265666374,
    1324925415, 1386294362, 1450010176, 1516347490, 1585627264, 1658228077, 1734601056,
    1815289967, 1900958762, 1992430165, 2090741097, 2197224578, 2313634930, 2442347036,
    2586689345, 2751535314, 2944438980, 3178053831, 3476098690, 3891820299, 4595119851};

}  // namespace

SigmoidLevels::SigmoidLevels(std::int64_t scale) {
  CHECK(scale > 0 && scale < std::int64_t{1} << 50, scale);
  constexpr std::int64_t nano = 1'000'000'000;
  const auto scaled = [&](std::int64_t logit) {
    const auto wide = static_cast<__int128>(logit) * scale;
    const auto floor = wide >= 0 ? wide / nano : -((-wide + nano - 1) / nano);
    return static_cast<std::int64_t>(floor) + (floor * nano == wide ? 0 : 1);
  };
  for (std::size_t level = 1; level <= 99; ++level) {
    const std::int64_t logit = level == 50  ? 0
                               : level > 50 ? upper_half[level - 51]
                                            : 1 - upper_half[49 - level];
    reaches_[level - 1] = scaled(logit);
  }
}

unsigned SigmoidLevels::of(std::int64_t x) const {
  return static_cast<unsigned>(std::ranges::upper_bound(reaches_, x) - reaches_.begin());
}

}  // namespace tutti
