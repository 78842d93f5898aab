#include "sched/class_index.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace tutti::class_index_test {

NodeIndex best_by_hand(const std::vector<ClassIndex::Rating>& ratings) {
  NodeIndex best;
  ClassIndex::Rating highest = ClassIndex::unfit;
  for (std::size_t at = 0; at < ratings.size(); ++at) {
    if (ratings[at] <= highest) continue;
    highest = ratings[at];
    best = NodeIndex(at);
  }
  return best;
}

TEST(ClassIndexTest, IsEmptyAtFirst) {
  ClassIndex index;
  index.reset(100);
  EXPECT_FALSE(index.best().valid());
  index.reset(0);
  EXPECT_FALSE(index.best().valid());
}

TEST(ClassIndexTest, TiesFallToTheLowestNode) {
  ClassIndex index;
  index.reset(3000);
  for (const unsigned at : {2999U, 1500U, 33U, 31U}) {
    index.set(NodeIndex(at), 7);
    EXPECT_EQ(index.best(), NodeIndex(at));
  }
  index.set(NodeIndex(31), ClassIndex::unfit);
  EXPECT_EQ(index.best(), NodeIndex(33));
}

// Any sequence of changes leaves the index as a scan of all ratings would have it.
TEST(ClassIndexTest, AgreesWithAScanOfAllNodes) {
  for (const std::size_t nodes : {1UL, 31UL, 32UL, 33UL, 1024UL, 1025UL, 2500UL}) {
    Prng prng(7, nodes);
    ClassIndex index;
    index.reset(nodes);
    std::vector<ClassIndex::Rating> ratings(nodes);
    for (int step = 0; step < 3000; ++step) {
      const std::size_t at = prng.below(static_cast<std::uint32_t>(nodes));
      ratings[at] = static_cast<ClassIndex::Rating>(prng.below(6));
      index.set(NodeIndex(at), ratings[at]);
      ASSERT_EQ(index.best(), best_by_hand(ratings)) << nodes << " nodes, step " << step;
      ASSERT_EQ(index.rating(NodeIndex(at)), ratings[at]);
    }
  }
}

}  // namespace tutti::class_index_test
