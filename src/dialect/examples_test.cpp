/// The shipped examples are read, and are what their comments say.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "dialect/tutti.h"
#include "generated/source_dir.h"
#include "model/catalog.h"
#include "model/state.h"

namespace tutti::examples_test {

std::string text_of(const std::string& path) {
  std::ifstream file(TUTTI_SOURCE_DIR "/examples/" + path);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ExamplesTest, TheWorkloadOverfillsTheFleet) {
  const Catalog catalog = Catalog::builtin().value();
  const auto fleet = parse_fleet(text_of("fleet.yaml"), "fleet", &catalog);
  ASSERT_TRUE(fleet.has_value()) << fleet.error().text();
  const auto workload = parse_workload(text_of("jobs.yaml"), "jobs", &catalog);
  ASSERT_TRUE(workload.has_value()) << workload.error().text();
  State state;
  std::int64_t devices = 0;
  for (const NodeSpec& node : fleet->nodes) {
    ASSERT_TRUE(state.admissible(NodeReported{node}).has_value());
    state.apply(NodeReported{node}, {});
    for (const DeviceSpec& spec : node.devices) EXPECT_FALSE(spec.type.vendor.empty()) << node.name;
    devices += static_cast<std::int64_t>(node.devices.size());
  }
  EXPECT_EQ(fleet->nodes.size(), 39U);
  EXPECT_EQ(devices, 208);
  for (const QueueSpec& queue : fleet->queues) {
    ASSERT_TRUE(state.admissible(QueueSet{queue}).has_value());
    state.apply(QueueSet{queue}, {});
  }
  std::int64_t gpu_milli = 0;
  std::uint64_t number = 0;
  for (const Submission& job : workload->jobs) {
    const auto good = state.admissible(JobSubmitted{JobId(number++), job.spec});
    EXPECT_TRUE(good.has_value()) << good.error().text();
    gpu_milli += job.gpu_milli;
  }
  EXPECT_EQ(workload->jobs.size(), 604U);
  const std::int64_t percent = gpu_milli / (devices * 10);
  EXPECT_GE(percent, 128);
  EXPECT_LE(percent, 134);
}

}  // namespace tutti::examples_test
