#include "dialect/mentions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dialect/tutti.h"
#include "model/catalog.h"

namespace tutti::mentions_test {

const Catalog& catalog() {
  static const Catalog known = Catalog::builtin().value();
  return known;
}

FleetFile fleet_of(std::string_view yaml) {
  auto fleet = parse_fleet(yaml, "f", &catalog());
  EXPECT_TRUE(fleet.has_value()) << fleet.error().text();
  return std::move(fleet).value_or(FleetFile{});
}

std::vector<std::string> told(const std::vector<Error>& odd) {
  std::vector<std::string> out;
  for (const Error& each : odd) out.push_back(each.where + ": " + each.what + "; " + each.hint);
  return out;
}

std::vector<std::string> odd_jobs(const std::string& yaml, const FleetFile* fleet = nullptr) {
  auto jobs = parse_workload(yaml, "j", &catalog());
  EXPECT_TRUE(jobs.has_value()) << jobs.error().text();
  return told(odd_words(*jobs, fleet, catalog()));
}

using Told = std::vector<std::string>;

TEST(MentionsTest, EveryLevelOfAJobIsLookedAt) {
  const auto jobs = parse_workload(R"yaml(
job:
  name: j
  queue: ml
  gangs:
    - near: zone
      groups:
        - together: rack
          roles:
            - name: r
              cpu: 1
              gpus: [1xA]
              npu: {where: "b && c in (d, e)"}
              devices: [{where: f == g}]
              alternatives: [{gpus: 2xH, affinity: [{tasks: {x: y}, within: row}]}]
mix: [{gpus: 1xM}]
)yaml",
                                   "j", nullptr);
  ASSERT_TRUE(jobs.has_value()) << jobs.error().text();
  std::string all;
  for (const Mention& each : jobs->mentions) {
    all += each.name + (each.value.empty() ? "" : "=" + each.value) + " ";
  }
  EXPECT_EQ(all, "ml zone rack A b c=d c=e f=g H row M ");
  EXPECT_EQ(place_of(jobs->mentions, Mention::Of::queue, "ml"), "4:10");
  EXPECT_EQ(place_of(jobs->mentions, Mention::Of::level, "ml"), "");
}

TEST(MentionsTest, WordsStandOnceWhereTheyAreFirst) {
  EXPECT_EQ(odd_jobs("jobs:\n  - {name: a, gpus: 1xL44}\n  - {name: b, gpus: 2xL44}\n"),
            (Told{"2:21: the catalog does not know \"L44\"; did you mean \"L4\"?"}));
}

TEST(MentionsTest, WhatTheCatalogKnowsIsNotOdd) {
  EXPECT_EQ(odd_jobs("job: {name: a, memory: 1Mi, gpu: {memory: 2Gi, where: \"fp8 && memory > 1 && "
                     "kind != npu && vendor in (amd, nvidia) && model == A100-80GB && profile == "
                     "1g.10gb || compute_capability >= 8\"}}"),
            (Told{}));
}

TEST(MentionsTest, WhatTheFleetKnowsIsNotOddEither) {
  const FleetFile fleet = fleet_of(R"(
topology: [rack]
nodes:
  - name: n
    domains: {rack: 1, rak: 2}
    devices: [{model: Own, memory: 64Gi, vendor: acme, attributes: {bus: pcie}}, {model: Owm}]
)");
  EXPECT_EQ(told(odd_words(fleet, catalog())),
            (Told{"5:24: \"rak\" is no level of the topology; did you mean \"rack\"?",
                  "6:90: the catalog does not know \"Owm\"; did you mean \"Own\"?"}));
  const std::string jobs =
      "jobs: [{name: a, gpus: [1xOwn, 1xOwm], spread: [{tasks: {a: b}, over: rak}], near: host},\n"
      "  {name: b, devices: [{where: vendor == acme && bus == pcie}, {where: bus == sxm}]}]\n";
  EXPECT_EQ(odd_jobs(jobs, &fleet), (Told{"2:71: no device has the bus \"sxm\"; known: pcie"}));
  EXPECT_EQ(odd_jobs("job: {name: a, gpus: 1xOwnn, near: rac}", &fleet),
            (Told{"1:22: the catalog does not know \"Ownn\"; did you mean \"Own\"?",
                  "1:36: no node has a label \"rac\"; did you mean \"rack\"?"}));
}

TEST(MentionsTest, AmountsThatAreHardlyMeant) {
  EXPECT_EQ(odd_jobs("job: {name: a, cpu: 4k, memory: 1023Ki, gpu: {memory: 8}}"),
            (Told{"1:21: cpu 4k is 4000 cores; did you mean 4?",
                  "1:33: memory 1023Ki is 1047552 bytes; did you mean 1023Gi?",
                  "1:55: memory 8 is 8 bytes; did you mean 8Gi?"}));
}

}  // namespace tutti::mentions_test
