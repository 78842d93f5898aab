#include "model/catalog_read.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/limits.h"
#include "format/quantity.h"
#include "format/reader.h"
#include "format/text.h"
#include "format/yaml.h"

namespace tutti {
namespace {

constexpr std::int64_t slices_max = 64;
constexpr std::int64_t watts_max = 1'000'000;

constexpr std::array<std::string_view, 10> precisions{"fp64", "fp32", "tf32", "bf16", "fp16",
                                                      "fp8",  "fp6",  "fp4",  "int8", "int4"};
constexpr std::array<Choice<DeviceKind>, 5> kinds{{{"gpu", DeviceKind::gpu},
                                                   {"npu", DeviceKind::npu},
                                                   {"tpu", DeviceKind::tpu},
                                                   {"fpga", DeviceKind::fpga},
                                                   {"nic", DeviceKind::nic}}};

std::string rate_name(std::string_view precision) {
  return std::string(precision) + (precision.starts_with("int") ? "_tops" : "_tflops");
}

void set_number(DeviceType& type, std::string_view name, std::int64_t number) {
  const auto at = std::ranges::lower_bound(type.attributes, name, {}, &Attribute::name);
  if (at != type.attributes.end() && at->name == name) return;
  type.attributes.insert(at, {.name = std::string(name), .number = number, .text = {}});
}

void set_word(DeviceType& type, std::string_view name, std::string word) {
  const auto at = std::ranges::lower_bound(type.attributes, name, {}, &Attribute::name);
  type.attributes.insert(at, {.name = std::string(name), .number = 0, .text = std::move(word)});
}

/// A positive decimal in thousandths.
Result<std::optional<std::int64_t>> rate(Reader& r, std::string_view name) {
  const auto number = TRY(r.optional_fixed(name, 3));
  if (number && *number == 0) {
    return fail(r.error(name, "is not positive", "leave out what is not known"));
  }
  return number;
}

Result<std::vector<std::string>> words(Reader& r, std::string_view name) {
  std::vector<std::string> out = TRY(r.texts(name));
  for (const std::string& word : out) {
    if (folded_word(word).empty()) {
      return fail(r.error(name, fmt::format("{} has neither letters nor digits", quote(word))));
    }
  }
  return out;
}

Result<std::vector<Attribute>> read_peak(Reader& r) {
  std::vector<Attribute> out;
  for (const std::string_view precision : precisions) {
    const auto number = TRY(rate(r, precision));
    if (number) out.push_back({.name = std::string(precision), .number = *number, .text = {}});
  }
  return out;
}

Result<void> read_precisions(Reader& r, DeviceType& type) {
  const auto peak = TRY(r.optional_object("peak", read_peak));
  for (const Attribute& each : peak.value_or(std::vector<Attribute>())) {
    set_number(type, each.name, 1);
    set_number(type, rate_name(each.name), each.number);
  }
  for (const std::string& word : TRY(r.texts("precisions"))) {
    if (std::ranges::find(precisions, word) == precisions.end()) {
      return fail(r.error("precisions", fmt::format("{} is no precision", quote(word)),
                          did_you_mean(word, precisions)));
    }
    set_number(type, word, 1);
  }
  return {};
}

struct Power {
  std::optional<std::int64_t> idle;
  std::optional<std::int64_t> peak;
};

Result<Power> read_watts(Reader& r) {
  Power out;
  out.idle = TRY(r.optional_integer("idle", 1, watts_max));
  out.peak = TRY(r.optional_integer("peak", 1, watts_max));
  return out;
}

Result<void> read_power(Reader& r, DeviceType& type) {
  const auto power = TRY(r.optional_object("power_w", read_watts));
  if (power && power->idle) set_number(type, "idle_power_w", *power->idle);
  if (power && power->peak) set_number(type, "peak_power_w", *power->peak);
  return {};
}

struct Links {
  std::string kind;
  std::optional<std::int64_t> rate;
};

Result<Links> read_links(Reader& r) {
  Links out;
  out.kind = TRY(r.required_text("kind"));
  if (out.kind.empty()) return fail(r.error("kind", "is empty"));
  out.rate = TRY(rate(r, "gb_per_s"));
  return out;
}

Result<void> read_interconnect(Reader& r, DeviceType& type) {
  const auto links = TRY(r.optional_object("interconnect", read_links));
  if (!links) return {};
  set_word(type, "interconnect", links->kind);
  if (links->rate) set_number(type, "interconnect_gb_per_s", *links->rate);
  return {};
}

Result<void> read_compute_capability(Reader& r, DeviceType& type) {
  const auto text = TRY(r.optional_text("compute_capability"));
  if (!text) return {};
  const auto number = parse_fixed(*text, 3);
  if (!number) {
    return fail(r.error("compute_capability", number.error().what, "write it as in \"9.0\""));
  }
  set_number(type, "compute_capability", *number);
  return {};
}

Result<std::vector<Catalog::LabelMeaning>> read_labels(Reader& r) {
  std::vector<Catalog::LabelMeaning> out;
  const Value* const labels = TRY(r.optional_value("labels"));
  if (labels == nullptr) return out;
  Reader keys(*labels, r.path_of("labels"));
  const auto members = labels->as_map();
  if (!members) return fail(r.error("labels", members.error().what));
  for (const Value::Member& member : *members) {
    out.push_back({.key = member.key, .values = TRY(keys.texts(member.key))});
  }
  return out;
}

Result<DeviceType> read_type(Reader& r) {
  DeviceType type;
  type.model = TRY(r.required_text("name"));
  if (folded_word(type.model).empty()) {
    return fail(
        r.error("name", fmt::format("{} is no name", quote(type.model)), "use letters or digits"));
  }
  type.vendor = TRY(r.required_text("vendor"));
  type.kind = TRY(r.required_choice<DeviceKind>("kind", kinds));
  type.memory_mib = TRY(r.optional_integer("memory_mib", 1, limits::device_mib)).value_or(0);
  if (const auto number = TRY(rate(r, "memory_bandwidth_gb_per_s"))) {
    set_number(type, "memory_bandwidth_gb_per_s", *number);
  }
  TRY(read_precisions(r, type));
  TRY(read_power(r, type));
  TRY(read_compute_capability(r, type));
  TRY(read_interconnect(r, type));
  if (const auto cores = TRY(r.optional_integer("cores_per_device", 1, 1024))) {
    set_number(type, "cores", *cores);
  }
  return type;
}

Result<Catalog::Entry> read_device(Reader& r) {
  Catalog::Entry entry;
  entry.type = TRY(read_type(r));
  entry.families = TRY(words(r, "families"));
  entry.aliases = TRY(words(r, "aliases"));
  entry.resource_names = TRY(r.texts("resource_names"));
  entry.resource_prefixes = TRY(r.texts("resource_prefixes"));
  entry.visible_devices = TRY(r.optional_text("visible_devices")).value_or("");
  entry.container_devices = TRY(r.optional_text("container_devices")).value_or("");
  entry.labels = TRY(read_labels(r));
  entry.mig = TRY(r.optional_text("mig")).value_or("");
  entry.source = TRY(r.required_text("source"));
  entry.where = r.value().place().text();
  return entry;
}

Result<Catalog::Vendor> read_vendor(Reader& r) {
  Catalog::Vendor vendor;
  vendor.name = TRY(r.required_text("name"));
  if (vendor.name.empty()) return fail(r.error("name", "is empty"));
  vendor.title = TRY(r.optional_text("title")).value_or(vendor.name);
  vendor.resource_names = TRY(r.texts("resource_names"));
  vendor.resource_prefixes = TRY(r.texts("resource_prefixes"));
  vendor.core_resource_names = TRY(r.texts("core_resource_names"));
  vendor.model_labels = TRY(r.texts("model_labels"));
  vendor.label_markers = TRY(r.texts("label_markers"));
  vendor.visible_devices = TRY(r.optional_text("visible_devices")).value_or("");
  vendor.container_devices = TRY(r.optional_text("container_devices")).value_or("");
  vendor.visible_cores = TRY(r.optional_text("visible_cores")).value_or("");
  vendor.where = r.value().place().text();
  return vendor;
}

/// How many instances of one profile a card holds: greedy from the lowest slice is optimal, since
/// all have the same size.
std::int64_t instances(const MigProfile& profile, std::int64_t compute_slices) {
  std::int64_t count = 0;
  std::int64_t free = 0;
  for (const std::uint16_t start : profile.placements) {
    if (start < free) continue;
    ++count;
    free = start + profile.size;
  }
  return std::min(count, compute_slices / profile.compute_slices);
}

Result<MigProfile> read_profile(Reader& r, std::int64_t memory_slices,
                                std::int64_t compute_slices) {
  MigProfile profile;
  profile.name = TRY(r.required_text("profile"));
  profile.memory_mib = TRY(r.required_integer("memory_mib", 1, limits::device_mib));
  profile.compute_slices =
      static_cast<std::uint16_t>(TRY(r.required_integer("compute_slices", 1, compute_slices)));
  profile.size = static_cast<std::uint16_t>(TRY(r.required_integer("size", 1, memory_slices)));
  for (const std::int64_t start : TRY(r.integers("placements", 0, memory_slices - profile.size))) {
    if (!profile.placements.empty() && start <= profile.placements.back()) {
      return fail(r.error("placements",
                          fmt::format("{} does not follow {}", start, profile.placements.back()),
                          "list them in ascending order, each once"));
    }
    profile.placements.push_back(static_cast<std::uint16_t>(start));
  }
  if (profile.placements.empty()) return fail(r.error("placements", "is empty"));
  const std::int64_t most = instances(profile, compute_slices);
  profile.max = static_cast<std::uint16_t>(TRY(r.required_integer("max", 1, most)));
  return profile;
}

Result<MigLayout> read_layout(Reader& r) {
  MigLayout layout;
  layout.name = TRY(r.required_text("name"));
  if (layout.name.empty()) return fail(r.error("name", "is empty"));
  const std::int64_t memory = TRY(r.required_integer("memory_slices", 1, slices_max));
  const std::int64_t compute = TRY(r.required_integer("compute_slices", 1, slices_max));
  layout.memory_slices = static_cast<std::uint16_t>(memory);
  layout.compute_slices = static_cast<std::uint16_t>(compute);
  layout.profiles =
      TRY(r.list("profiles", [=](Reader& inner) { return read_profile(inner, memory, compute); }));
  if (layout.profiles.empty()) return fail(r.error("profiles", "is missing or empty"));
  for (std::size_t at = 1; at < layout.profiles.size(); ++at) {
    const auto before = std::span(layout.profiles).first(at);
    const std::string& name = layout.profiles[at].name;
    if (std::ranges::find(before, name, &MigProfile::name) == before.end()) continue;
    return fail(r.error("profiles", fmt::format("{} is listed twice", quote(name))));
  }
  TRY(r.required_text("source"));
  layout.where = r.value().place().text();
  return layout;
}

Result<CatalogFile> read_file(Reader& r) {
  CatalogFile file;
  TRY(r.required_integer("catalog", 1, 1));
  file.vendors = TRY(r.list("vendors", read_vendor));
  file.layouts = TRY(r.list("mig_layouts", read_layout));
  file.devices = TRY(r.list("devices", read_device));
  return file;
}

Result<CatalogFile> read_text(std::string_view yaml) {
  const std::vector<Value> documents = TRY(parse_yaml(yaml));
  if (documents.size() != 1) {
    return fail({.code = Code::invalid,
                 .what = fmt::format("a catalog is one document, found {}", documents.size()),
                 .where = "1:1",
                 .hint = "start with \"catalog: 1\""});
  }
  return decode(documents.front(), "", read_file);
}

}  // namespace

Result<CatalogFile> read_catalog(std::string_view yaml, std::string_view file_name) {
  Result<CatalogFile> file = read_text(yaml);
  if (!file) return fail(std::move(file).error().at(file_name));
  const auto place = [&](std::string& where) { where = std::string(file_name) + ":" + where; };
  for (Catalog::Vendor& vendor : file->vendors) place(vendor.where);
  for (MigLayout& layout : file->layouts) place(layout.where);
  for (Catalog::Entry& entry : file->devices) place(entry.where);
  return file;
}

}  // namespace tutti
