/// Nodes and their devices in Tutti's YAML.
#include "dialect/tutti_fleet.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "base/limits.h"
#include "dialect/devices.h"
#include "dialect/names.h"
#include "dialect/tutti.h"
#include "dialect/tutti_read.h"
#include "format/text.h"
#include "model/catalog.h"

namespace tutti {
namespace {

constexpr std::int64_t bytes_per_mib = std::int64_t{1} << 20;

constexpr std::array<Choice<DeviceKind>, 5> device_kinds{{{"gpu", DeviceKind::gpu},
                                                          {"npu", DeviceKind::npu},
                                                          {"tpu", DeviceKind::tpu},
                                                          {"fpga", DeviceKind::fpga},
                                                          {"nic", DeviceKind::nic}}};
constexpr std::array<Choice<DeviceMode>, 4> modes{{{"whole", DeviceMode::whole},
                                                   {"mig", DeviceMode::mig},
                                                   {"mps", DeviceMode::mps},
                                                   {"time_sliced", DeviceMode::time_sliced}}};
constexpr std::array<Choice<Health>, 4> healths{{{"online", Health::online},
                                                 {"degraded", Health::degraded},
                                                 {"failed", Health::failed},
                                                 {"flapping", Health::flapping}}};

/// An integer for every device, or a list with one for each.
Result<std::vector<std::int64_t>> per_device(Reader& reader, std::string_view field,
                                             std::size_t count, std::int64_t most) {
  const Value* const value = TRY(reader.optional_value(field));
  if (value == nullptr) return std::vector<std::int64_t>(count, 0);
  if (!value->is(Kind::list)) {
    const std::int64_t all = TRY(reader.required_integer(field, 0, most));
    return std::vector<std::int64_t>(count, all);
  }
  std::vector<std::int64_t> out = TRY(reader.integers(field, 0, most));
  if (out.size() == count) return out;
  return fail(reader.error(field, fmt::format("{} numbers for {} devices", out.size(), count),
                           "one for each device, or a single number for all"));
}

Result<Attribute> attribute_of(const Value::Member& member, const std::string& path) {
  Attribute out{.name = member.key};
  const Value& value = member.value;
  if (value.is(Kind::boolean)) {
    out.number = value.boolean_value() ? 1 : 0;
  } else if (value.is(Kind::integer) || value.is(Kind::decimal)) {
    const std::string digits = TRY(value.as_number());
    Result<std::int64_t> number =
        in_thousandths(out.name) ? parse_fixed(digits, 3) : value.as_integer();
    if (!number) return fail(at_value(std::move(number).error(), path, value));
    out.number = *number;
  } else if (value.is(Kind::text) && in_thousandths(out.name)) {
    return fail(at_value(value.mismatch("a number"), path, value));
  } else if (value.is(Kind::text) && !value.text_value().empty()) {
    out.text = value.text_value();
  } else {
    return fail(at_value(value.mismatch("a number, text, true or false"), path, value));
  }
  return out;
}

Result<void> read_attributes(Reader& reader, DeviceType& type) {
  const Value* const value = TRY(reader.optional_value("attributes"));
  if (value == nullptr) return {};
  const std::string path = reader.path_of("attributes");
  Result<std::span<const Value::Member>> members = value->as_map();
  if (!members) return fail(at_value(std::move(members).error(), path, *value));
  TRY(check_width(*members, path));
  for (const Value::Member& member : *members) {
    Attribute attribute = TRY(attribute_of(member, path + "." + member.key));
    const auto at = std::ranges::lower_bound(type.attributes, attribute.name, {}, &Attribute::name);
    if (at != type.attributes.end() && at->name == attribute.name) {
      *at = std::move(attribute);
    } else {
      type.attributes.insert(at, std::move(attribute));
    }
  }
  return {};
}

/// A slice lies in a card of the same node, and a card in nothing.
Result<void> check_parents(const std::vector<DeviceSpec>& devices) {
  for (const DeviceSpec& spec : devices) {
    const std::size_t parent = spec.device.parent;
    if (parent == Device::no_parent) continue;
    if (parent >= devices.size()) {
      return fail(Code::invalid,
                  fmt::format("parent {} is none of the {} devices", parent, devices.size()));
    }
    if (devices[parent].device.parent == Device::no_parent) continue;
    return fail(Code::invalid, fmt::format("parent {} is itself a slice of a device", parent),
                "parents count the devices of the node from 0; a whole card has none");
  }
  return {};
}

Result<void> check_ids(const std::vector<DeviceSpec>& devices) {
  std::set<std::string_view> ids;
  for (const DeviceSpec& spec : devices) {
    if (spec.device.id.empty() || ids.insert(spec.device.id).second) continue;
    return fail(Code::invalid, fmt::format("id {} appears twice", quote(spec.device.id)));
  }
  return {};
}

/// A slice of a card that the catalog knows has a profile that it knows, or says its memory.
Result<void> check_profile(Reader& reader, const Catalog* catalog, const DeviceType& slice) {
  const Catalog::Entry* const entry = catalog == nullptr ? nullptr : catalog->entry(slice.model);
  if (entry == nullptr) return {};
  const MigLayout* const layout = catalog->layout(entry->mig);
  std::vector<std::string_view> names;
  for (std::size_t at = 0; layout != nullptr && at < layout->profiles.size(); ++at) {
    names.push_back(layout->profiles[at].name);
  }
  return fail(reader.error("profile",
                           fmt::format("the catalog knows no slice {} of {}, so \"memory\" must "
                                       "be given",
                                       quote(slice.profile), entry->type.model),
                           did_you_mean(slice.profile, names)));
}

/// What the file says of a device type wins over the catalog.
Result<DeviceType> read_type(Reader& reader, const Catalog* catalog) {
  DeviceType type = device_type_of(catalog, TRY(read_name(reader, "model")));
  if (auto vendor = TRY(reader.optional_text("vendor"))) type.vendor = *std::move(vendor);
  const std::span<const Choice<DeviceKind>> choices(device_kinds);
  if (const auto kind = TRY(reader.optional_choice("kind", choices))) type.kind = *kind;
  const auto profile = TRY(reader.optional_text("profile"));
  const bool known = !profile || become_slice(type, catalog, *profile);
  if (const auto memory = TRY(reader.optional_quantity("memory"))) {
    if (*memory / bytes_per_mib > limits::device_mib) {
      return fail(
          reader.error("memory", fmt::format("{} is more than a card has", bytes_text(*memory))));
    }
    type.memory_mib = *memory / bytes_per_mib;
  } else if (!known) {
    TRY(check_profile(reader, catalog, type));
  }
  TRY(read_attributes(reader, type));
  return type;
}

/// Of the short form, "8xA100-80G".
Result<CountedModel> short_devices(std::string_view text) {
  const auto cards = counted_model(text);
  if (!cards) {
    return fail(Code::invalid, fmt::format("{} is no number of cards of a model", quote(text)),
                "for example: 8xA100-80G");
  }
  if (cards->count >= 1 && cards->count <= limits::devices_per_node) return *cards;
  return fail(Code::limit, fmt::format("a node has 1 to {} devices, not {}",
                                       limits::devices_per_node, cards->count));
}

Result<std::vector<StackVersion>> read_stack(Reader& reader) {
  std::vector<StackVersion> out;
  for (const auto& [name, version] : TRY(reader.text_map("stack"))) out.push_back({name, version});
  return out;
}

/// The node's own fields; its name is the pattern.
Result<NodeSpec> read_node(Reader& reader) {
  NodeSpec node;
  node.pool = TRY(reader.optional_text("pool")).value_or("default");
  if (Result<void> good = check_name(node.pool); !good) {
    return fail(reader.error("pool", good.error().what, good.error().hint));
  }
  node.capacity = TRY(read_amounts(reader, {}, Zeros::keep));
  if (const auto pods = TRY(reader.optional_integer("pods", 0, 1'000'000))) {
    const auto at = std::ranges::lower_bound(node.capacity, "pods", {}, &NamedAmount::name);
    if (at != node.capacity.end() && at->name == "pods") {
      return fail(reader.error("pods", "stands in \"resources\" too"));
    }
    node.capacity.insert(at, {"pods", *pods});
  }
  node.labels = TRY(read_labels(reader, "labels"));
  node.taints = TRY(read_taints(reader));
  node.stack = TRY(read_stack(reader));
  node.cordoned = TRY(reader.optional_boolean("cordoned")).value_or(false);
  return node;
}

}  // namespace

Result<std::vector<DeviceSpec>> NodeReader::read_device(Reader& reader) const {
  const DeviceType type = TRY(read_type(reader, catalog_));
  const auto wanted = TRY(reader.optional_integer("count", 1, limits::devices_per_node));
  const auto count = static_cast<std::size_t>(wanted.value_or(1));
  const auto islands = TRY(per_device(reader, "island", count, 65'535));
  const auto numas = TRY(per_device(reader, "numa", count, 255));
  const std::span<const Choice<DeviceMode>> mode_choices(modes);
  const std::span<const Choice<Health>> health_choices(healths);
  Device device;
  device.mode = TRY(reader.optional_choice("mode", mode_choices))
                    .value_or(type.profile.empty() ? DeviceMode::whole : DeviceMode::mig);
  device.health = TRY(reader.optional_choice("health", health_choices)).value_or(Health::online);
  if (const auto parent = TRY(reader.optional_integer("parent", 0, limits::devices_per_node - 1))) {
    device.parent = static_cast<std::uint8_t>(*parent);
  }
  const std::vector<std::string> ids = TRY(reader.texts("ids"));
  if (!ids.empty() && ids.size() != count) {
    return fail(reader.error("ids", fmt::format("{} ids for {} devices", ids.size(), count)));
  }
  std::vector<DeviceSpec> out(count, {.type = type, .device = device});
  for (std::size_t at = 0; at < count; ++at) {
    out[at].device.island = static_cast<std::uint16_t>(islands[at]);
    out[at].device.numa = static_cast<std::uint8_t>(numas[at]);
    if (!ids.empty()) out[at].device.id = ids[at];
  }
  return out;
}

Result<std::vector<DeviceSpec>> NodeReader::read_devices(Reader& reader) const {
  std::vector<DeviceSpec> out;
  if (const Value* const value = TRY(reader.optional_value("gpus")); value != nullptr) {
    for (const Value& item : one_or_many(*value)) {
      const std::string path = reader.path_of("gpus");
      Result<std::string_view> text = item.as_text();
      if (!text) {
        text.error().hint = "for example: 8xA100-80G";
        return fail(at_value(std::move(text).error(), path, item));
      }
      Result<CountedModel> cards = short_devices(*text);
      if (!cards) return fail(at_value(std::move(cards).error(), path, item));
      const DeviceSpec card{.type = device_type_of(catalog_, cards->model), .device = {}};
      out.insert(out.end(), static_cast<std::size_t>(cards->count), card);
    }
  }
  const auto read = [this](Reader& inner) { return read_device(inner); };
  for (const auto& devices : TRY(reader.list("devices", read))) {
    out.insert(out.end(), devices.begin(), devices.end());
  }
  const std::string_view field = reader.value().find("devices") != nullptr ? "devices" : "gpus";
  if (out.size() > limits::devices_per_node) {
    return fail(reader.error(field, fmt::format("{} devices on one node; at most {} are supported",
                                                out.size(), limits::devices_per_node)));
  }
  Result<void> good = check_parents(out);
  if (good) good = check_ids(out);
  if (!good) return fail(reader.error(field, good.error().what, good.error().hint));
  return out;
}

Result<std::vector<NodeReader::Domain>> NodeReader::read_domains(Reader& reader) {
  const auto read = [](Reader& inner) -> Result<Domain> {
    Domain out;
    out.size = TRY(inner.required_integer("size", 1, limits::nodes));
    out.prefix = TRY(inner.optional_text("prefix")).value_or("");
    return out;
  };
  std::vector<Domain> out;
  const Value* const value = TRY(reader.optional_value("domains"));
  if (value == nullptr) return out;
  const std::string path = reader.path_of("domains");
  Result<std::span<const Value::Member>> members = value->as_map();
  if (!members) return fail(at_value(std::move(members).error(), path, *value));
  TRY(check_width(*members, path));
  for (const Value::Member& member : *members) {
    Domain domain;
    const std::string inner = path + "." + member.key;
    if (member.value.is(Kind::map)) {
      domain = TRY(decode(member.value, inner, read));
    } else {
      Result<std::int64_t> size = member.value.as_integer();
      if (!size) return fail(at_value(std::move(size).error(), inner, member.value));
      domain.size = *size;
    }
    if (domain.size < 1) {
      return fail(
          at_value({Code::invalid, "a domain has at least 1 node", {}, {}}, inner, member.value));
    }
    domain.label = member.key;
    if (domain.prefix.empty()) domain.prefix = member.key + "-";
    domain.first = domains_[domain.label];
    out.push_back(std::move(domain));
  }
  return out;
}

void NodeReader::advance(const std::vector<Domain>& domains, std::size_t nodes) {
  for (const Domain& domain : domains) {
    const auto size = static_cast<std::uint64_t>(domain.size);
    domains_[domain.label] += (nodes + size - 1) / size;
  }
}

Result<void> NodeReader::read(Reader& reader, std::vector<NodeSpec>& out) {
  const std::string pattern = TRY(reader.required_text("name"));
  const std::size_t room = nodes_per_file - std::min(out.size(), nodes_per_file);
  if (room == 0) {
    return fail(reader.error("name", fmt::format("a file has at most {} nodes", nodes_per_file)));
  }
  Result<std::vector<std::string>> names = expand_names(pattern, room);
  if (!names) return fail(reader.error("name", names.error().what, names.error().hint));
  NodeSpec node = TRY(read_node(reader));
  node.devices = TRY(read_devices(reader));
  const std::vector<Domain> domains = TRY(read_domains(reader));
  devices_ += node.devices.size() * names->size();
  labels_ += (node.labels.all().size() + domains.size()) * names->size();
  if (labels_ > labels_per_file) {
    return fail(reader.error(
        "name", fmt::format("the nodes of the file have {} labels; at most {} are read", labels_,
                            labels_per_file)));
  }
  if (devices_ > devices_per_file) {
    return fail(
        reader.error("name", fmt::format("the file describes {} devices; at most {} are read",
                                         devices_, devices_per_file)));
  }
  for (std::size_t at = 0; at < names->size(); ++at) {
    node.name = (*names)[at];
    for (const Domain& domain : domains) {
      const std::uint64_t number = domain.first + at / static_cast<std::uint64_t>(domain.size);
      node.labels.set(domain.label, domain.prefix + std::to_string(number));
    }
    out.push_back(node);
  }
  advance(domains, names->size());
  return {};
}

}  // namespace tutti
