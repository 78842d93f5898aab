#include "sched/class_index.h"

#include <algorithm>

#include "base/check.h"

namespace tutti {
namespace {

constexpr std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

/// Highest of 32 ratings; the loop is a handful of vector instructions.
ClassIndex::Rating highest(const ClassIndex::Rating* block) {
  ClassIndex::Rating best = 0;
  for (unsigned at = 0; at < 32; ++at) best = std::max(best, block[at]);
  return best;
}

/// REQUIRES: it is there.
std::size_t position(const ClassIndex::Rating* block, ClassIndex::Rating wanted) {
  std::size_t at = 0;
  while (block[at] != wanted) ++at;
  return at;
}

}  // namespace

void ClassIndex::reset(std::size_t nodes) {
  size_ = nodes;
  leaves_.assign(round_up(nodes, fan), unfit);
  blocks_.assign(round_up(leaves_.size() / fan, fan), unfit);
  top_.assign(blocks_.size() / fan, unfit);
}

void ClassIndex::change(NodeIndex node, Rating rating) {
  const std::size_t at = node.value();
  const Rating old = leaves_[at];
  leaves_[at] = rating;
  Rating& block = blocks_[at / fan];
  const Rating old_block = block;
  if (rating > old_block) {
    block = rating;
  } else if (old == old_block) {
    block = highest(&leaves_[at / fan * fan]);
  }
  if (block == old_block) return;
  Rating& top = top_[at / (fan * fan)];
  if (block > top) {
    top = block;
  } else if (old_block == top) {
    top = highest(&blocks_[at / (fan * fan) * fan]);
  }
}

NodeIndex ClassIndex::best() const {
  Rating best = unfit;
  std::size_t where = 0;
  for (std::size_t at = 0; at < top_.size(); ++at) {
    if (top_[at] <= best) continue;
    best = top_[at];
    where = at;
  }
  if (best == unfit) return NodeIndex::none();
  where = where * fan + position(&blocks_[where * fan], best);
  where = where * fan + position(&leaves_[where * fan], best);
  return NodeIndex(where);
}

}  // namespace tutti
