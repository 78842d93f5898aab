/// Same inputs, same bits: whatever the compiler, the optimisation and the machine. The values
/// below are what any build must give; they change only when decisions do, and then on purpose.
#include <gtest/gtest.h>

#include <string>

#include "generated/source_dir.h"
#include "sim/chaos.h"
#include "sim/files.h"
#include "sim/fill.h"
#include "sim/replay.h"

namespace tutti::same_bits_test {

std::string example(const std::string& file) {
  return std::string(TUTTI_SOURCE_DIR) + "/examples/" + file;
}

class SameBitsTest : public testing::Test {
 protected:
  Skipped skipped_;
  Catalog catalog_ = load_catalog({}).value();
  FleetFile fleet_ = load_fleet(example("fleet.yaml"), catalog_, skipped_).value();
  Workload jobs_ = load_workload(example("jobs.yaml"), catalog_, skipped_).value();
};

TEST_F(SameBitsTest, AFillEndsInOneState) {
  const auto fgd = fill(fleet_, jobs_, builtin_policy("fgd").value(), {});
  const auto usable = fill(fleet_, jobs_, builtin_policy("default").value(), {});
  EXPECT_EQ(usable->state_hash, 0xef199abc12bd6fe4U);
  EXPECT_EQ(fgd->state_hash, 0xd429097aa205a6c7U);
}

TEST_F(SameBitsTest, ATraceEndsInOneState) {
  const auto result = replay(fleet_, jobs_, builtin_policy("default").value(), {});
  EXPECT_EQ(result->state_hash, 0x70e00ba090c5545fU);
}

TEST_F(SameBitsTest, ChaosEndsInOneState) {
  std::uint64_t all = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    all = all * 31 + chaos({.seed = seed}).state_hash;
  EXPECT_EQ(all, 0x7531078d473407c0U);
}

}  // namespace tutti::same_bits_test
