#include "dialect/kubernetes_register.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/limits.h"
#include "dialect/devices.h"
#include "format/json.h"
#include "format/quantity.h"
#include "format/reader.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::int64_t numa_max = 255;

/// HAMi puts the vendor before some names: "NVIDIA-Tesla P4".
std::string_view without_vendor(std::string_view type) {
  return type.starts_with("NVIDIA-Tesla") ? type.substr(7) : type;
}

DeviceSpec card_of(std::string_view type, std::int64_t mib, const Catalog* catalog) {
  DeviceSpec card{.type = device_type_of(catalog, without_vendor(type)), .device = {}};
  if (card.type.vendor.empty()) card.type.vendor = "nvidia";
  card.type.memory_mib = mib;
  return card;
}

Result<DeviceSpec> read_card(Reader& reader, const Catalog* catalog) {
  reader.ignore_rest();
  const std::int64_t mib = TRY(reader.required_integer("devmem", 0, limits::device_mib));
  DeviceSpec card = card_of(TRY(reader.optional_text("type")).value_or(""), mib, catalog);
  card.device.id = TRY(reader.required_text("id"));
  const auto numa = TRY(reader.optional_integer("numa", -1, numa_max));
  card.device.numa = static_cast<std::uint8_t>(std::max<std::int64_t>(numa.value_or(0), 0));
  const bool healthy = TRY(reader.optional_boolean("health")).value_or(true);
  card.device.health = healthy ? Health::online : Health::failed;
  return card;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Result<DeviceSpec> card_of_fields(std::string_view text, const Catalog* catalog) {
  const std::vector<std::string_view> fields = split(text, ',');
  // Volcano has no field for cores before the type, so what follows stands one place earlier.
  const bool hami = fields.size() >= 7;
  if (fields.size() < 6) {
    return fail(Code::invalid, fmt::format("{} has {} fields; 6 or more are expected", quote(text),
                                           fields.size()));
  }
  const Result<std::int64_t> mib = parse_quantity(fields[2]);
  if (!mib || *mib > limits::device_mib) {
    return fail(Code::invalid, fmt::format("{} is no number of MiB", quote(fields[2])));
  }
  DeviceSpec card = card_of(hami ? fields[4] : fields[3], *mib, catalog);
  card.device.id = fields[0];
  const std::string_view health = hami ? fields[6] : fields[4];
  card.device.health = health == "false" ? Health::failed : Health::online;
  if (hami) {
    const Result<std::int64_t> numa = parse_quantity(fields[5]);
    if (numa && *numa <= numa_max) card.device.numa = static_cast<std::uint8_t>(*numa);
  }
  return card;
}

}  // namespace

Result<std::vector<DeviceSpec>> parse_register(std::string_view text, const Catalog* catalog) {
  std::vector<DeviceSpec> cards;
  if (text.starts_with('[')) {
    const Value list = TRY(parse_json(text));
    for (const Value& item : list.items()) {
      cards.push_back(
          TRY(decode(item, "card", [&](Reader& reader) { return read_card(reader, catalog); })));
    }
  } else {
    for (const std::string_view part : split(text, ':')) {
      if (part.empty()) continue;
      cards.push_back(TRY(card_of_fields(part, catalog)));
    }
  }
  if (cards.size() <= limits::devices_per_node) return cards;
  return fail(Code::limit, fmt::format("{} cards; at most {} are supported", cards.size(),
                                       limits::devices_per_node));
}

}  // namespace tutti
