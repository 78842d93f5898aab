#include "backend/local/cpu_map.h"

#include <gtest/gtest.h>

namespace tutti::cpu_map_test {

TEST(CpuMapTest, NeighboursStandSideBySide) {
  const auto cpus = find_cpus("pack:2 numa:2 l3:1 core:2 pu:2");
  ASSERT_TRUE(cpus.has_value()) << cpus.error().text();
  ASSERT_EQ(cpus->size(), 16U);
  EXPECT_EQ((*cpus)[0].core, (*cpus)[1].core);
  EXPECT_NE((*cpus)[1].core, (*cpus)[2].core);
  EXPECT_EQ((*cpus)[0].cache, (*cpus)[3].cache);
  EXPECT_NE((*cpus)[0].cache, (*cpus)[4].cache);
  EXPECT_EQ((*cpus)[4].numa, 1U);
  EXPECT_EQ((*cpus)[7].socket, 0U);
  EXPECT_EQ((*cpus)[8].socket, 1U);
  EXPECT_EQ(describe(*cpus), "2 sockets, 4 NUMA nodes, 8 cores, 16 threads");
}

TEST(CpuMapTest, ThisMachineHasWhatWeMayUse) {
  const auto cpus = find_cpus();
  ASSERT_TRUE(cpus.has_value()) << cpus.error().text();
  EXPECT_FALSE(cpus->empty());
  EXPECT_FALSE(find_cpus("no:such machine").has_value());
}

}  // namespace tutti::cpu_map_test
