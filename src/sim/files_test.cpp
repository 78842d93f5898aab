#include "sim/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tutti::files_test {

using testing::HasSubstr;

const Catalog& catalog() {
  static const Catalog shipped = load_catalog({}).value();
  return shipped;
}

/// A folder of its own that is gone after the test.
class FilesTest : public testing::Test {
 protected:
  FilesTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tutti-XXXXXX").string();
    const char* const made = ::mkdtemp(pattern.data());
    EXPECT_NE(made, nullptr);
    folder_ = made == nullptr ? "." : made;
  }
  ~FilesTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string put(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  static std::string fleet_error(const std::string& path) {
    Skipped skipped;
    const auto fleet = load_fleet(path, catalog(), skipped);
    return fleet ? "no error" : fleet.error().text();
  }

  std::filesystem::path folder_;
};

TEST(FormatTest, IsFoundInTheContent) {
  EXPECT_EQ(format_of("sn,cpu_milli,memory_mib,gpu,model\n"), FileFormat::openb_nodes);
  EXPECT_EQ(format_of("\xef\xbb\xbfname,cpu_milli,x\n"), FileFormat::openb_pods);
  EXPECT_EQ(format_of("\n {\"apiVersion\": \"v1\"}"), FileFormat::kubernetes);
  EXPECT_EQ(format_of("{\"nodes\": []}"), FileFormat::tutti);
  EXPECT_EQ(format_of("---\napiVersion: v1\n"), FileFormat::kubernetes_yaml);
  EXPECT_EQ(format_of("# of cpu, and memory\ntutti: 1\n"), FileFormat::tutti);
  EXPECT_EQ(format_of("jobs: [{name: a, cpu: 1}]"), FileFormat::tutti);
  EXPECT_EQ(format_of("name,gpus\na,1\n"), FileFormat::other_table);
  EXPECT_EQ(format_of("# nothing"), FileFormat::tutti);
  EXPECT_EQ(format_of("{\"items\" : [{}]}"), FileFormat::kubernetes);
  EXPECT_EQ(format_of("{\"jobs\": [{\"labels\": {\"items\": \"3\"}}]}"), FileFormat::tutti);
  EXPECT_EQ(format_of("{\"jobs\": [{\"name\": \"items\"}]}"), FileFormat::tutti);
  EXPECT_EQ(format_of("sn;cpu_milli;gpu\n"), FileFormat::other_table);
}

TEST_F(FilesTest, ReadsEveryKindOfFleet) {
  Skipped skipped;
  const auto openb = load_fleet(put("a.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,1,1,2,T4\n"),
                                catalog(), skipped);
  ASSERT_TRUE(openb.has_value()) << openb.error().text();
  EXPECT_EQ(openb->name, "a");
  EXPECT_EQ(openb->nodes.at(0).devices.size(), 2U);
  const auto own =
      load_fleet(put("b.yaml", "nodes: [{name: n, cpu: 1, gpus: 1xT4}]"), catalog(), skipped);
  ASSERT_TRUE(own.has_value()) << own.error().text();
  EXPECT_GT(own->nodes.at(0).devices.at(0).type.memory_mib, 0) << "the catalog is not used";
  const auto dump = load_fleet(
      put("c.json", R"({"apiVersion": "v1", "items": [{"kind": "Node", "metadata": {"name": "n"},
                     "status": {"allocatable": {"cpu": "8"}}}]})"),
      catalog(), skipped);
  ASSERT_TRUE(dump.has_value()) << dump.error().text();
  EXPECT_EQ(dump->nodes.at(0).name, "n");
}

TEST_F(FilesTest, ErrorsNameThePlaceAndTheWayOut) {
  EXPECT_EQ(fleet_error(put("empty", "")), "error: " + path("empty") + ": the file is empty\n");
  EXPECT_THAT(fleet_error(put("blank", " \n# nothing\n")), HasSubstr("the file is empty"));
  EXPECT_THAT(fleet_error(put("bad.yaml", "nodes:\n  - name: n\n    cpus: 1\n")),
              HasSubstr(path("bad.yaml") + ":3:5: "));
  EXPECT_THAT(fleet_error(put("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n")),
              HasSubstr("--workload"));
  EXPECT_THAT(fleet_error(put("other.csv", "a,b\n1,2\n")), HasSubstr("known: "));
  EXPECT_THAT(fleet_error(put("k.yaml", "apiVersion: v1\n")), HasSubstr("-o json"));
}

TEST_F(FilesTest, TheSystemsErrorsKeepTheirReason) {
  Skipped skipped;
  put("fleet.yaml", "nodes: []");
  const auto missing = load_fleet(path("flet.yaml"), catalog(), skipped);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Code::io);
  EXPECT_EQ(missing.error().hint, "did you mean \"" + path("fleet.yaml") + "\"?");
  const auto folder = load_fleet(folder_.string(), catalog(), skipped);
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().code, Code::io);
  EXPECT_THAT(folder.error().what, HasSubstr("Is a directory"));
  if (::geteuid() == 0) return;  // Nothing is forbidden to root.
  std::filesystem::permissions(path("fleet.yaml"), std::filesystem::perms::none);
  EXPECT_THAT(fleet_error(path("fleet.yaml")), HasSubstr("Permission denied"));
}

TEST_F(FilesTest, FilesLargerThanTheirHeadAreReadWhole) {
  std::string text = "sn,cpu_milli,memory_mib,gpu,model\n";
  for (int node = 0; node < 20'000; ++node) text += "n" + std::to_string(node) + ",1,1,0,\n";
  Skipped skipped;
  const auto fleet = load_fleet(put("large.csv", text), catalog(), skipped);
  ASSERT_TRUE(fleet.has_value()) << fleet.error().text();
  EXPECT_EQ(fleet->nodes.size(), 20'000U);
}

TEST_F(FilesTest, SkipsWhatIsAllowedAndSaysWhat) {
  const std::string file =
      put("a.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,1,1,2,T4\nm,x,1,0,\nk,y,1,0,\n");
  Skipped none;
  EXPECT_THAT(load_fleet(file, catalog(), none).error().hint, HasSubstr("--skip-bad N"));
  Skipped one{.allowed = 1};
  const Error both = load_fleet(file, catalog(), one).error();
  EXPECT_EQ(both.where, file);
  EXPECT_THAT(both.what, HasSubstr("2 bad, 1 allowed: 3:3: "));
  EXPECT_THAT(both.what, HasSubstr("; 4:3: "));
  Skipped two{.allowed = 2};
  const auto fleet = load_fleet(file, catalog(), two);
  ASSERT_TRUE(fleet.has_value());
  EXPECT_EQ(fleet->nodes.size(), 1U);
  EXPECT_EQ(two.lines, 2U);
  ASSERT_EQ(two.errors.size(), 2U);
  EXPECT_EQ(two.errors[0].where, file + ":3:3");
  EXPECT_EQ(two.errors[1].where, file + ":4:3");
  EXPECT_THAT(two.errors[1].what, HasSubstr("\"y\""));
}

TEST_F(FilesTest, WhatIsSkippedStandsInItsOwnFileAndIsNotKeptForEver) {
  std::string text = "sn,cpu_milli,memory_mib,gpu,model\nn,1,1,0,\n";
  for (int row = 0; row < 20; ++row) text += "m,x,1,0,\n";
  const std::string first = put("a.csv", text);
  const std::string second =
      put("b.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,1,1,0,\nm,x,1,0,\n");
  Skipped skipped{.allowed = 30};
  EXPECT_TRUE(load_fleet(second, catalog(), skipped).has_value());
  EXPECT_TRUE(load_fleet(first, catalog(), skipped).has_value());
  EXPECT_EQ(skipped.lines, 21U);
  ASSERT_EQ(skipped.errors.size(), Skipped::kept);
  EXPECT_EQ(skipped.errors.front().where, second + ":3:3");
  EXPECT_EQ(skipped.errors.back().where, first + ":11:3");
}

TEST_F(FilesTest, OwnDevicesJoinTheCatalog) {
  const std::string own =
      put("own.yaml",
          "catalog: 1\ndevices:\n  - {name: Acme-N1, vendor: nvidia, kind: npu, "
          "memory_mib: 65536, source: us}\n");
  const Catalog known = load_catalog({own}).value();
  EXPECT_EQ(known.all().size(), catalog().all().size() + 1);
  Skipped skipped;
  const std::string fleet = put("f.yaml", "nodes: [{name: n, gpus: 1xAcme-N1}]");
  EXPECT_EQ(load_fleet(fleet, known, skipped)->nodes.at(0).devices.at(0).type.memory_mib, 65536);
  EXPECT_EQ(load_fleet(fleet, catalog(), skipped)->nodes.at(0).devices.at(0).type.memory_mib, 0);
  const auto wrong = load_catalog({own, put("bad.yaml", "catalog: 1\ndevics: []\n")});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().where, path("bad.yaml") + ":2:1");
  EXPECT_THAT(wrong.error().hint, HasSubstr("devices"));
}

TEST_F(FilesTest, PoliciesAreNamesOrFiles) {
  EXPECT_EQ(load_policy("bestfit").value().name, "bestfit");
  const std::string file = put("mine.yaml", "policy: 1\nname: x\nscores: [{name: pack}]\n");
  EXPECT_EQ(load_policy(file).value().name, "mine");
  const auto unknown = load_policy("bestft");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, Code::not_found);
  EXPECT_THAT(unknown.error().hint, HasSubstr("bestfit"));
  const auto missing = load_policy(path("min.yaml"));
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Code::io);
  const auto wrong = load_policy(put("w.yaml", "policy: 1\nname: x\nscores: [{name: pak}]\n"));
  ASSERT_FALSE(wrong.has_value());
  EXPECT_THAT(wrong.error().text(), HasSubstr(path("w.yaml") + ":3:"));
}

TEST_F(FilesTest, PoliciesMayLearnTheirMix) {
  const auto learned =
      load_policy(put("l.yaml", "policy: 1\nname: x\nscores: [{name: fgd}]\ntarget: learned\n"));
  ASSERT_TRUE(learned.has_value()) << learned.error().text();
  EXPECT_TRUE(learned->learn_mix);
}

TEST_F(FilesTest, WritesAllOrNothing) {
  ASSERT_TRUE(write_file(path("a"), "first").has_value());
  ASSERT_TRUE(write_file(path("a"), "second").has_value());
  EXPECT_EQ(read_file(path("a")).value(), "second");
  EXPECT_TRUE(check_writable(path("b")).has_value());
  EXPECT_FALSE(write_file(folder_.string(), "text").has_value());
  EXPECT_FALSE(check_writable(path("none/b")).has_value());
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 1U) << "something half written was left";
}

TEST_F(FilesTest, WritingFollowsLinksAndKeepsRights) {
  namespace fs = std::filesystem;
  put("target", "old");
  fs::permissions(path("target"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("target", path("link"));
  put("link.part", "of somebody else");
  ASSERT_TRUE(check_writable(path("link")).has_value());
  ASSERT_TRUE(write_file(path("link"), "new").has_value());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("target")).value(), "new");
  EXPECT_EQ(read_file(path("link.part")).value(), "of somebody else");
  EXPECT_EQ(fs::status(path("target")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(FilesTest, OneFileHasManyPaths) {
  namespace fs = std::filesystem;
  put("a", "x");
  put("b", "x");
  fs::create_hard_link(path("a"), path("hard"));
  EXPECT_TRUE(same_file(path("a"), path("a")));
  EXPECT_TRUE(same_file(path("./a"), path("a")));
  EXPECT_TRUE(same_file(path("hard"), path("a")));
  EXPECT_FALSE(same_file(path("a"), path("b")));
  EXPECT_TRUE(same_file(path("none"), path("./none"))) << "both would become one file";
  EXPECT_FALSE(same_file(path("none"), path("a")));
  EXPECT_FALSE(same_file("/dev/null", "/dev/null")) << "it is no file";
}

TEST_F(FilesTest, ADumpMustHaveWhatIsWantedOfIt) {
  const std::string node = R"({"kind": "Node", "metadata": {"name": "n"}})";
  const std::string pod = R"({"kind": "Pod", "metadata": {"name": "p"}, "spec": {}})";
  const std::string nodes = put("nodes.json", R"({"items": [)" + node + "]}");
  const std::string pods = put("pods.json", R"({"items": [)" + pod + "]}");
  const std::string both = put("both.json", R"({"items": [)" + node + "," + pod + "]}");
  Skipped skipped;
  EXPECT_TRUE(load_fleet(nodes, catalog(), skipped).has_value());
  EXPECT_TRUE(load_workload(pods, catalog(), skipped).has_value());
  EXPECT_TRUE(load_snapshot(both, catalog(), skipped).has_value());
  EXPECT_THAT(fleet_error(pods), HasSubstr("the dump has no nodes"));
  EXPECT_THAT(load_workload(nodes, catalog(), skipped).error().what, HasSubstr("no pods"));
  EXPECT_THAT(load_snapshot(nodes, catalog(), skipped).error().what, HasSubstr("no pods"));
  EXPECT_THAT(load_snapshot(pods, catalog(), skipped).error().what, HasSubstr("no nodes"));
}

TEST(FullDiskTest, IsAnErrorAndTheDeviceStays) {
  if (!std::filesystem::is_character_file("/dev/full")) GTEST_SKIP() << "missing: /dev/full";
  const auto written = write_file("/dev/full", "text");
  ASSERT_FALSE(written.has_value());
  EXPECT_THAT(written.error().what, HasSubstr("No space left"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

}  // namespace tutti::files_test
