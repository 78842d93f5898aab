#include "model/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/attribute.h"

namespace tutti::catalog_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Catalog builtin() {
  Result<Catalog> catalog = Catalog::builtin();
  EXPECT_TRUE(catalog.has_value()) << catalog.error().text();
  return catalog ? *std::move(catalog) : Catalog();
}

std::string model_of(const Catalog& catalog, std::string_view word) {
  const auto type = catalog.find(word);
  return type ? type->model : "?";
}

std::int64_t number_of(const DeviceType& type, std::string_view name) {
  const auto at = std::ranges::find(type.attributes, name, &Attribute::name);
  return at == type.attributes.end() ? -1 : at->number;
}

/// The error of adding `yaml` to the shipped catalog, which must not change.
std::string error_of(const std::string& yaml) {
  Catalog catalog = builtin();
  const std::size_t before = catalog.all().size();
  const auto added = catalog.add(yaml, "own.yaml");
  EXPECT_EQ(catalog.all().size(), before);
  return added ? "" : added.error().text();
}

std::string device(const std::string& fields) {
  return "catalog: 1\ndevices:\n  - {name: N1, vendor: nvidia, kind: npu, source: test" + fields +
         "}\n";
}

TEST(CatalogTest, EveryBuiltinEntryIsFoundByAllItsWords) {
  const Catalog catalog = builtin();
  EXPECT_GT(catalog.all().size(), 80U);
  for (const Catalog::Entry* entry : catalog.all()) {
    EXPECT_EQ(catalog.entry(entry->type.model), entry) << entry->type.model;
    for (const std::string& alias : entry->aliases) {
      EXPECT_EQ(catalog.entry(alias), entry) << alias;
    }
    for (const std::string& family : entry->families) {
      EXPECT_EQ(std::ranges::count(catalog.meanings(family), entry), 1) << family;
    }
    EXPECT_FALSE(entry->source.empty());
    EXPECT_TRUE(std::ranges::is_sorted(entry->type.attributes, {}, &Attribute::name));
    EXPECT_NE(catalog.vendor(entry->type.vendor), nullptr);
  }
}

TEST(CatalogTest, WordsOfTracesAndDriversResolve) {
  const Catalog catalog = builtin();
  EXPECT_EQ(model_of(catalog, "V100M32"), "V100-32G");
  EXPECT_EQ(model_of(catalog, "V100M16"), "V100-16G");
  EXPECT_EQ(model_of(catalog, "P100"), "P100-PCIe-16G");  // A family: the first of it.
  EXPECT_EQ(model_of(catalog, "T4"), "T4");
  EXPECT_EQ(model_of(catalog, "A10"), "A10");
  EXPECT_EQ(model_of(catalog, "a100"), "A100-40G");
  EXPECT_EQ(model_of(catalog, "NVIDIA-H100-80GB-HBM3"), "H100-80G");
  EXPECT_EQ(model_of(catalog, "nvidia_a100_sxm4_80gb"), "A100-80G");
  EXPECT_EQ(model_of(catalog, "Ascend910B3"), "Ascend-910B3");
  EXPECT_EQ(model_of(catalog, "K100_AI"), "DCU-K100-AI");
  EXPECT_EQ(model_of(catalog, "G2"), "?");
  EXPECT_EQ(model_of(catalog, ""), "?");
  EXPECT_EQ(model_of(catalog, " - "), "?");
}

TEST(CatalogTest, WordsAreFolded) {
  EXPECT_EQ(folded_word("NVIDIA A100-SXM4 (80GB)"), "nvidiaa100sxm480gb");
  EXPECT_EQ(folded_word("1g.10gb+me"), "1g.10gb+me");
  EXPECT_EQ(folded_word("昇腾 910"), "昇腾910");
}

TEST(CatalogTest, AFamilyMeansAllOfItInARequest) {
  const Catalog catalog = builtin();
  std::vector<std::string> models;
  for (const auto* entry : catalog.meanings("v100")) models.push_back(entry->type.model);
  EXPECT_THAT(models, ElementsAre("V100-16G", "V100-32G", "V100-PCIe-16G", "V100-PCIe-32G"));
  EXPECT_EQ(catalog.meanings("V100M32").size(), 1U);
  EXPECT_TRUE(catalog.meanings("X9000").empty());
}

TEST(CatalogTest, FiguresAreAttributes) {
  const Catalog catalog = builtin();
  const DeviceType h100 = catalog.find("H100-80G").value();
  EXPECT_EQ(h100.memory_mib, 81920);
  EXPECT_EQ(h100.vendor, "nvidia");
  EXPECT_EQ(number_of(h100, "fp8"), 1);
  EXPECT_EQ(number_of(h100, "bf16_tflops"), 989'500);
  EXPECT_EQ(number_of(h100, "int8_tops"), 1'979'000);
  EXPECT_EQ(number_of(h100, "memory_bandwidth_gb_per_s"), 3'350'000);
  EXPECT_EQ(number_of(h100, "peak_power_w"), 700);
  EXPECT_EQ(number_of(h100, "idle_power_w"), -1);
  EXPECT_EQ(number_of(h100, "compute_capability"), 9'000);
  EXPECT_EQ(number_of(h100, "fp4"), -1);
  EXPECT_EQ(number_of(catalog.find("Trainium2").value(), "cores"), 8);
  // A precision whose rate nobody states is a flag alone.
  const DeviceType a10g = catalog.find("A10G").value();
  EXPECT_EQ(number_of(a10g, "bf16"), 1);
  EXPECT_EQ(number_of(a10g, "bf16_tflops"), -1);
}

TEST(CatalogTest, RequestsAreAnsweredFromIt) {
  const Catalog catalog = builtin();
  const auto matching = [&](std::string_view text) {
    const auto expression = AttributeExpression::parse(text);
    EXPECT_TRUE(expression.has_value()) << text;
    return std::ranges::count_if(catalog.all(), [&](const Catalog::Entry* entry) {
      return expression->matches(entry->type);
    });
  };
  const auto matches = [&](std::string_view word, std::string_view text) {
    return AttributeExpression::parse(text)->matches(catalog.find(word).value());
  };
  EXPECT_TRUE(matches("MI300X", "memory >= 40Gi && fp8 && vendor in (nvidia, amd)"));
  EXPECT_FALSE(matches("A100", "memory >= 40Gi && fp8 && vendor in (nvidia, amd)"));
  EXPECT_TRUE(matches("B200", "compute_capability >= 10.0"));
  EXPECT_FALSE(matches("L4", "compute_capability >= 9"));
  EXPECT_TRUE(matches("L4", "compute_capability == 8.9 && fp16_tflops < 121.001"));
  EXPECT_TRUE(matches("H200", "interconnect == nvlink && interconnect_gb_per_s >= 900"));
  EXPECT_GT(matching("kind == npu && bf16"), 10);
  EXPECT_EQ(matching("vendor == huawei && memory > 64Gi"), 0);
}

TEST(CatalogTest, LabelsNameTheModel) {
  const Catalog catalog = builtin();
  const auto by = [&](std::string_view key, std::string_view value) {
    Labels labels;
    labels.set(key, value);
    labels.set("zone", "T4");
    const auto* const entry = catalog.find_by_labels(labels);
    return entry == nullptr ? std::string("?") : entry->type.model;
  };
  EXPECT_EQ(by("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB"), "A100-80G");
  EXPECT_EQ(by("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"), "A100-80G");
  EXPECT_EQ(by("nvidia.com/gpu.product", "Tesla-T4-SHARED"), "T4");
  EXPECT_EQ(by("cloud.google.com/gke-tpu-accelerator", "tpu-v5p-slice"), "TPU-v5p");
  EXPECT_EQ(by("amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM"), "MI300X");
  EXPECT_EQ(by("node.kubernetes.io/npu.chip.name", "Ascend910"), "Ascend-910C");
  EXPECT_EQ(by("node.kubernetes.io/instance-type", "trn2.48xlarge"), "Trainium2");
  EXPECT_EQ(by("nvidia.com/gpu.product", "Unheard-Of"), "?");
  EXPECT_EQ(by("rack", "A100"), "?");
}

TEST(CatalogTest, ResourcesNameVendorAndSometimesTheModel) {
  const Catalog catalog = builtin();
  const auto counted = [&](std::string_view resource) -> std::string {
    const auto found = catalog.find_resource(resource);
    if (!found) return "?";
    return found->vendor->name + "/" + (found->entry == nullptr ? "" : found->entry->type.model) +
           (found->cores ? "/cores" : "") + "/" + std::string(found->rest);
  };
  EXPECT_EQ(counted("nvidia.com/gpu"), "nvidia//");
  EXPECT_EQ(counted("nvidia.com/mig-3g.40gb"), "nvidia//3g.40gb");
  EXPECT_EQ(counted("huawei.com/Ascend910B3"), "huawei/Ascend-910B3/");
  EXPECT_EQ(counted("huawei.com/Ascend910"), "huawei//");
  EXPECT_EQ(counted("cambricon.com/mlu370"), "cambricon//");  // Two models share it.
  EXPECT_EQ(counted("aws.amazon.com/neuroncore"), "aws//cores/");
  EXPECT_EQ(counted("xilinx.com/fpga-xilinx_u250_gen3x16"), "xilinx/Alveo-U250/gen3x16");
  EXPECT_EQ(counted("xilinx.com/fpga-other"), "xilinx//other");
  EXPECT_EQ(counted("nvidia.com/gp"), "?");
  EXPECT_EQ(counted("acme.example/npu"), "?");
  EXPECT_EQ(counted(""), "?");
}

TEST(CatalogTest, EnvironmentVariablesAreTheDevicesElseTheVendors) {
  const Catalog catalog = builtin();
  EXPECT_EQ(catalog.visible_devices(*catalog.entry("A30")), "CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(catalog.container_devices(*catalog.entry("910C")), "ASCEND_VISIBLE_DEVICES");
  EXPECT_EQ(catalog.visible_devices(*catalog.entry("Gaudi3")), "HABANA_VISIBLE_MODULES");
  EXPECT_EQ(catalog.visible_devices(*catalog.entry("ConnectX-7")), "");
}

/// Most instances of one profile that fit together, by trying all subsets of placements.
unsigned most_instances(const MigLayout& layout, const MigProfile& profile) {
  unsigned best = 0;
  for (unsigned chosen = 0; chosen < 1U << profile.placements.size(); ++chosen) {
    std::vector<unsigned> slices(layout.memory_slices);
    unsigned count = 0;
    bool fits = true;
    for (std::size_t at = 0; at < profile.placements.size(); ++at) {
      if ((chosen >> at & 1U) == 0) continue;
      ++count;
      for (unsigned offset = 0; offset < profile.size; ++offset) {
        fits = fits && ++slices.at(profile.placements[at] + offset) == 1;
      }
    }
    if (fits && count * profile.compute_slices <= layout.compute_slices)
      best = std::max(best, count);
  }
  return best;
}

TEST(CatalogTest, EveryMigLayoutIsLegal) {
  const Catalog catalog = builtin();
  EXPECT_GE(catalog.layouts().size(), 9U);
  for (const MigLayout& layout : catalog.layouts()) {
    for (const MigProfile& profile : layout.profiles) {
      const std::string name = layout.name + " " + profile.name;
      EXPECT_TRUE(std::ranges::is_sorted(profile.placements)) << name;
      EXPECT_LE(profile.placements.back() + profile.size, layout.memory_slices) << name;
      EXPECT_EQ(layout.find(profile.name), &profile) << name;
      const unsigned most = most_instances(layout, profile);
      if (profile.name.ends_with("+me")) {
        EXPECT_EQ(profile.max, 1) << name;  // The media engines are there once.
      } else {
        EXPECT_EQ(profile.max, most) << name;
      }
    }
  }
  for (const Catalog::Entry* entry : catalog.all()) {
    if (entry->mig.empty()) continue;
    const MigLayout* const layout = catalog.layout(entry->mig);
    ASSERT_NE(layout, nullptr) << entry->mig;
    for (const MigProfile& profile : layout->profiles) {
      EXPECT_LE(profile.memory_mib * profile.max, entry->type.memory_mib) << entry->type.model;
    }
  }
}

TEST(CatalogTest, ProfilesAreAlsoFoundByTheirResourceSpelling) {
  const Catalog catalog = builtin();
  const MigLayout* const layout = catalog.layout("ga100-40");
  ASSERT_NE(layout, nullptr);
  ASSERT_NE(layout->find("1g.5gb.me"), nullptr);
  EXPECT_EQ(layout->find("1g.5gb.me")->name, "1g.5gb+me");
  EXPECT_EQ(layout->find("1g.5gb")->max, 7);
  EXPECT_EQ(layout->find("1g+5gb"), nullptr);
  EXPECT_EQ(layout->find(""), nullptr);
}

TEST(CatalogTest, OwnFilesAddAndReplaceWholeEntries) {
  Catalog catalog = builtin();
  const std::size_t before = catalog.all().size();
  const auto added = catalog.add(R"(
catalog: 1
vendors:
  - {name: acme, title: Acme, resource_names: [acme.example/npu]}
devices:
  - {name: Acme-N1, vendor: acme, kind: npu, memory_mib: 65536, precisions: [bf16], source: ours}
  - {name: t4, vendor: nvidia, kind: gpu, memory_mib: 15360, source: measured}
)",
                                 "own.yaml");
  ASSERT_TRUE(added.has_value()) << added.error().text();
  EXPECT_EQ(catalog.all().size(), before + 1);
  EXPECT_EQ(catalog.all().back()->type.model, "Acme-N1");
  EXPECT_EQ(catalog.all().back()->where, "own.yaml:6:5");
  EXPECT_EQ(catalog.find_resource("acme.example/npu")->vendor->title, "Acme");
  const DeviceType t4 = catalog.find("T4").value();
  EXPECT_EQ(t4.memory_mib, 15360);
  EXPECT_EQ(number_of(t4, "fp16"), -1);
  EXPECT_FALSE(catalog.find("Tesla T4"));  // The alias went with the entry that had it.
  // What was replaced may be replaced again.
  EXPECT_TRUE(catalog.add("catalog: 1\nvendors: [{name: acme, title: Acme 2}]\n", "more.yaml"));
  EXPECT_EQ(catalog.vendor("acme")->title, "Acme 2");
  EXPECT_FALSE(catalog.find_resource("acme.example/npu"));
}

TEST(CatalogTest, ErrorsNameTheirPlaceAndTheWayOut) {
  EXPECT_EQ(error_of(device(", memroy_mib: 5")),
            "error: own.yaml:3:57: devices[0]: unknown field \"memroy_mib\"\n"
            "hint:  did you mean \"memory_mib\"?\n");
  EXPECT_THAT(error_of(device(", peak: {fp33: 5}")), HasSubstr("did you mean \"fp32\"?"));
  EXPECT_THAT(error_of(device(", peak: {fp32: 0}")), HasSubstr("own.yaml:3:70: devices[0].peak"));
  EXPECT_THAT(error_of(device(", peak: {fp32: -1}")), HasSubstr("own.yaml:3:70: "));
  EXPECT_THAT(error_of(device(", precisions: [fp99]")), HasSubstr("\"fp99\" is no precision"));
  EXPECT_THAT(error_of(device(", memory_mib: 0")), HasSubstr("0 is out of range"));
  EXPECT_THAT(error_of(device(", memory_mib: 2147483648")), HasSubstr("out of range"));
  EXPECT_THAT(error_of(device(", compute_capability: 9.0")), HasSubstr("expected text"));
  EXPECT_THAT(error_of(device(", aliases: ['-']")), HasSubstr("neither letters nor digits"));
  EXPECT_THAT(error_of(device(", mig: ga100-81")), HasSubstr("did you mean \"ga100-80\"?"));
  EXPECT_THAT(error_of("catalog: 1\ndevices: [{name: N, vendor: nvida, kind: gpu, source: s}]\n"),
              HasSubstr("did you mean \"nvidia\"?"));
  EXPECT_THAT(error_of("catalog: 2\n"), HasSubstr("own.yaml:1:10: catalog: 2 is out of range"));
  EXPECT_THAT(error_of(""), HasSubstr("own.yaml:1:1: a catalog is one document, found 0"));
  EXPECT_THAT(error_of("catalog: [\n"), HasSubstr("own.yaml:2:1"));
}

TEST(CatalogTest, AWordNamesOneDevice) {
  EXPECT_EQ(error_of(device(", aliases: [Tesla-T4]")),
            "error: own.yaml:3:5: device \"N1\" and device \"T4\" (nvidia_ampere.yaml:" +
                builtin().entry("T4")->where.substr(19) +
                ") are both called \"teslat4\"\n"
                "hint:  a word that means several models belongs in families\n");
  EXPECT_THAT(error_of("catalog: 1\ndevices:\n"
                       "  - {name: N1, vendor: nvidia, kind: gpu, source: s}\n"
                       "  - {name: n-1, vendor: nvidia, kind: gpu, source: s}\n"),
              HasSubstr("own.yaml:4:5: \"n1\" stands also at own.yaml:3:5"));
  // Even where both would replace a shipped one.
  EXPECT_THAT(error_of("catalog: 1\ndevices:\n"
                       "  - {name: T4, vendor: nvidia, kind: gpu, source: s}\n"
                       "  - {name: t4, vendor: nvidia, kind: gpu, source: s}\n"),
              HasSubstr("own.yaml:4:5: \"t4\" stands also at own.yaml:3:5"));
  // Its own name again is no conflict, and a name wins over a family.
  Catalog catalog = builtin();
  ASSERT_TRUE(catalog.add(device(", aliases: [n-1, A100]"), "own.yaml").has_value());
  EXPECT_EQ(model_of(catalog, "A100"), "N1");
  EXPECT_EQ(catalog.meanings("a100").size(), 1U);
}

std::string layout(const std::string& profile) {
  return "catalog: 1\nmig_layouts:\n  - {name: m, memory_slices: 4, compute_slices: 3, source: s,\n"
         "     profiles: [{profile: p, memory_mib: 10, " +
         profile + "}]}\n";
}

TEST(CatalogTest, IllegalMigProfilesAreRefused) {
  EXPECT_EQ(error_of(layout("compute_slices: 1, size: 2, max: 2, placements: [0, 2]")), "");
  EXPECT_THAT(error_of(layout("compute_slices: 1, size: 2, max: 3, placements: [0, 1, 2]")),
              HasSubstr("max: 3 is out of range"));
  EXPECT_THAT(error_of(layout("compute_slices: 2, size: 1, max: 2, placements: [0, 1]")),
              HasSubstr("max: 2 is out of range"));
  EXPECT_THAT(error_of(layout("compute_slices: 1, size: 2, max: 1, placements: [3]")),
              HasSubstr("placements[0]: 3 is out of range"));
  EXPECT_THAT(error_of(layout("compute_slices: 1, size: 2, max: 1, placements: [2, 2]")),
              HasSubstr("2 does not follow 2"));
  EXPECT_THAT(error_of(layout("compute_slices: 1, size: 2, max: 1, placements: []")),
              HasSubstr("is empty"));
  EXPECT_THAT(error_of(layout("compute_slices: 4, size: 2, max: 1, placements: [0]")),
              HasSubstr("compute_slices: 4 is out of range"));
  EXPECT_THAT(error_of(layout("compute_slices: 1, size: 5, max: 1, placements: [0]")),
              HasSubstr("size: 5 is out of range"));
}

}  // namespace tutti::catalog_test
