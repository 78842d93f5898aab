/// What one task asks for, in Tutti's YAML.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/limits.h"
#include "dialect/attribute_text.h"
#include "dialect/devices.h"
#include "dialect/tutti_read.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;
/// A share of memory alone still takes a thousandth of the card, so that nobody gets all of it.
constexpr std::uint16_t smallest_share = 1;

/// Whole percent or decimals of them, as per mille: "30%" is 300.
Result<std::int64_t> percent_of(std::string_view text) {
  if (!text.ends_with('%')) {
    return fail(Code::invalid, fmt::format("expected a share, found text {}", quote(text)),
                "write 30% or 0.3");
  }
  return parse_permille(text.substr(0, text.size() - 1), 1);
}

Result<std::uint16_t> share_of(const Value& value) {
  std::int64_t permille = 0;
  if (value.is(Kind::integer)) {
    permille = value.integer_value();
    if (permille == 1) {
      return fail(Code::invalid, "a share of 1 could be all of the card or a thousandth",
                  "write 100% or 0.1%");
    }
  } else if (value.is(Kind::decimal)) {
    permille = TRY(parse_permille(value.text_value(), 3));
  } else {
    const std::string_view text = TRY(value.as_text());
    permille = TRY(percent_of(text));
  }
  if (permille >= 1 && permille <= DeviceRequest::whole) {
    return static_cast<std::uint16_t>(permille);
  }
  return fail(Code::invalid,
              fmt::format("a share of {} per mille; 1 to 1000 are possible", permille));
}

Result<void> read_share(Reader& reader, DeviceRequest& request) {
  if (const auto bytes = TRY(reader.optional_quantity("memory")); bytes && *bytes > 0) {
    request.memory_mib = *bytes / mib + (*bytes % mib == 0 ? 0 : 1);
    request.compute_permille = smallest_share;
    if (request.memory_mib > limits::device_mib) {
      return fail(reader.error("memory",
                               fmt::format("{} MiB is more than a card has", request.memory_mib)));
    }
  }
  const Value* const share = TRY(reader.optional_value("share"));
  if (share == nullptr) return {};
  Result<std::uint16_t> permille = share_of(*share);
  if (!permille)
    return fail(at_value(std::move(permille).error(), reader.path_of("share"), *share));
  request.compute_permille = *permille;
  return {};
}

/// Refuses what can be true of no device: an order of words, or memory that is no amount.
Result<void> check_numbers(std::string_view text) {
  for (const AttributeTest& test : tests_of(text)) {
    const bool memory = test.name == "memory" && !test.op.empty();
    if (!memory && !test.op.starts_with('<') && !test.op.starts_with('>')) continue;
    for (const std::string_view value : test.values) {
      const auto number =
          memory ? parse_quantity(value, Sign::any) : parse_quantity_milli(value, Sign::any);
      if (number) continue;
      Error error = number.error();
      error.where = fmt::format("1:{}", value.data() - text.data() + 1);
      return fail(std::move(error));
    }
  }
  return {};
}

/// `kind` and what the user wrote, which is checked by itself first so that errors are about it.
Result<AttributeExpression> where_of(std::string_view kind, std::string_view text,
                                     const Catalog* catalog) {
  TRY(AttributeExpression::parse(text));
  TRY(check_numbers(text));
  const std::string own = with_known_models(text, catalog);
  if (kind.empty()) return AttributeExpression::parse(own);
  const std::string kinds = fmt::format("kind == {}", kind);
  return AttributeExpression::parse(own.empty() ? kinds : fmt::format("{} && ({})", kinds, own));
}

Result<DeviceRequest> read_request(Reader& reader, std::string_view kind, const Catalog* catalog) {
  DeviceRequest request;
  const auto count = TRY(reader.optional_integer("count", 1, limits::devices_per_node));
  request.count = static_cast<std::uint16_t>(count.value_or(1));
  if (const Value* const model = reader.value().find("model"); model != nullptr) {
    return fail(reader.error("model", "a request has none; it is written in short, or in \"where\"",
                             "gpus: 1xA100-80G, or where: model == A100-80G"));
  }
  const std::string text = TRY(reader.optional_text("where")).value_or("");
  Result<AttributeExpression> where = where_of(kind, text, catalog);
  if (!where) {
    const std::string column = where.error().where.substr(where.error().where.find(':') + 1);
    return fail(reader.error("where", fmt::format("{} (character {})", where.error().what, column),
                             where.error().hint));
  }
  request.where = *std::move(where);
  TRY(read_share(reader, request));
  request.closeness = TRY(read_closeness(reader));
  if (!request.closeness.level.empty() && request.closeness.level != "island" &&
      request.closeness.level != "numa") {
    return fail(
        reader.error(request.closeness.required ? "together" : "near",
                     fmt::format("{} is no level inside a node", quote(request.closeness.level)),
                     "island or numa; nodes are kept near by the task's own field"));
  }
  return request;
}

std::unexpected<Error> too_many(std::int64_t count) {
  return fail(
      Code::invalid,
      fmt::format("{} devices on one node; 0 to {} are possible", count, limits::devices_per_node),
      "use more tasks with fewer devices each");
}

/// "8xA100-80G": a number of cards of one model, which for one that the catalog knows are whole
/// cards; what a file calls by a name of its own is what it describes.
Result<DeviceRequest> request_of_text(std::string_view text, const Catalog* catalog) {
  DeviceRequest request;
  const auto cards = counted_model(text);
  if (!cards || cards->model.contains('"')) {
    return fail(Code::invalid, fmt::format("{} is no number of cards of a model", quote(text)),
                "for example: 2, 0.5 or 8xA100-80G");
  }
  const auto& [count, model] = *cards;
  if (count < 1 || count > limits::devices_per_node) return too_many(count);
  request.count = static_cast<std::uint16_t>(count);
  const std::string_view whole = models_called(catalog, model).empty() ? "" : " && !profile";
  request.where = TRY(
      AttributeExpression::parse(fmt::format("{}{}", models_text(catalog, {&model, 1}), whole)));
  return request;
}

/// The short form: a whole number of cards, a fraction of one, or cards of a model.
Result<std::optional<DeviceRequest>> short_request(const Value& value, std::string_view kind,
                                                   const Catalog* catalog) {
  if (value.is(Kind::text)) return TRY(request_of_text(value.text_value(), catalog));
  DeviceRequest request;
  request.where = TRY(where_of(kind, "", catalog));
  if (value.is(Kind::integer)) {
    const std::int64_t count = value.integer_value();
    if (count < 0 || count > limits::devices_per_node) return too_many(count);
    if (count == 0) return std::nullopt;
    request.count = static_cast<std::uint16_t>(count);
    return request;
  }
  if (!value.is(Kind::decimal)) return fail(value.mismatch("a number of devices"));
  const std::int64_t permille = TRY(parse_permille(value.text_value(), 3));
  if (permille % DeviceRequest::whole == 0 &&
      permille <= std::int64_t{limits::devices_per_node} * DeviceRequest::whole) {
    if (permille == 0) return fail(Code::invalid, "less than a thousandth of a device");
    request.count = static_cast<std::uint16_t>(permille / DeviceRequest::whole);
    return request;
  }
  if (permille > DeviceRequest::whole) {
    return fail(Code::invalid, "only a single device can be taken in part",
                fmt::format("for equal parts of several: {}: {{count: 2, share: 50%}}", kind));
  }
  request.compute_permille = static_cast<std::uint16_t>(permille);
  return request;
}

Result<void> read_kind(Reader& reader, std::string_view kind, const Catalog* catalog,
                       std::vector<DeviceRequest>& out) {
  const std::string_view plural = kind == "gpu" ? "gpus" : "npus";
  if (const Value* const value = TRY(reader.optional_value(plural)); value != nullptr) {
    for (const Value& item : one_or_many(*value)) {
      Result<std::optional<DeviceRequest>> request = short_request(item, kind, catalog);
      if (!request) {
        return fail(at_value(std::move(request).error(), reader.path_of(plural), item));
      }
      if (*request) out.push_back(**std::move(request));
    }
  }
  const auto read = [&](Reader& inner) { return read_request(inner, kind, catalog); };
  if (auto request = TRY(reader.optional_object(kind, read))) out.push_back(*std::move(request));
  return {};
}

Result<StackRequirement> stack_of(std::string_view text) {
  struct Symbol {
    std::string_view text;
    Operator op;
  };
  constexpr std::array<Symbol, 3> symbols{
      {{">=", Operator::greater}, {"==", Operator::in}, {"<", Operator::less}}};
  const auto trim = [](std::string_view part) {
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    return part;
  };
  for (const Symbol& symbol : symbols) {
    const std::size_t at = text.find(symbol.text);
    if (at == std::string_view::npos) continue;
    const std::string_view name = trim(text.substr(0, at));
    const std::string_view version = trim(text.substr(at + symbol.text.size()));
    const bool digits = !version.empty() && std::ranges::all_of(version, [](char c) {
      return (c >= '0' && c <= '9') || c == '.';
    });
    if (name.empty() || !digits) break;
    return StackRequirement{std::string(name), symbol.op, std::string(version)};
  }
  return fail(Code::invalid, fmt::format("{} is no requirement on a version", quote(text)),
              "for example: cuda >= 12.2; operators are >=, == and <");
}

Result<void> check_protocol(std::string_view word) {
  constexpr std::array<std::string_view, 3> known{"TCP", "UDP", "SCTP"};
  if (std::ranges::find(known, word) != known.end()) return {};
  return fail(Code::invalid, fmt::format("{} is no protocol", quote(word)),
              did_you_mean(word, known));
}

Result<HostPort> read_port_map(Reader& reader) {
  HostPort port;
  port.port = static_cast<std::uint16_t>(TRY(reader.required_integer("port", 1, 65'535)));
  port.protocol = TRY(reader.optional_text("protocol")).value_or("TCP");
  if (Result<void> good = check_protocol(port.protocol); !good) {
    return fail(reader.error("protocol", good.error().what, good.error().hint));
  }
  port.ip = TRY(reader.optional_text("ip")).value_or("");
  return port;
}

/// 8080, "53/UDP".
Result<HostPort> port_of(const Value& value) {
  std::string text;
  if (value.is(Kind::integer)) {
    text = std::to_string(value.integer_value());
  } else {
    text = std::string(TRY(value.as_text()));
  }
  const std::size_t slash = std::min(text.find('/'), text.size());
  HostPort port;
  if (slash < text.size()) port.protocol = text.substr(slash + 1);
  const auto number = whole_number(std::string_view(text).substr(0, slash));
  if (!number || *number < 1 || *number > 65'535) {
    return fail(Code::invalid, fmt::format("{} is no port", quote(text)),
                "1 to 65535, as in 8080 or 53/UDP");
  }
  TRY(check_protocol(port.protocol));
  port.port = static_cast<std::uint16_t>(*number);
  return port;
}

/// A field that is one item or a list of them, each read from its value.
template <class T, class Convert>
Result<void> read_each(Reader& reader, std::string_view field, std::vector<T>& out,
                       Convert convert) {
  const Value* const value = TRY(reader.optional_value(field));
  if (value == nullptr) return {};
  out.clear();
  for (const Value& item : one_or_many(*value)) {
    Result<T> part = convert(item);
    if (!part) return fail(at_value(std::move(part).error(), reader.path_of(field), item));
    out.push_back(*std::move(part));
  }
  return {};
}

Result<PreferredNodes> read_preferred(Reader& reader) {
  PreferredNodes out;
  out.weight =
      static_cast<std::uint16_t>(TRY(reader.optional_integer("weight", 1, 100)).value_or(1));
  TRY(reader.required_value("nodes"));
  out.nodes = TRY(read_selector(reader, "nodes"));
  return out;
}

Result<void> read_nodes(Reader& reader, TaskShape& shape) {
  if (TRY(reader.optional_value("nodes")) != nullptr) {
    shape.nodes = TRY(read_selector(reader, "nodes"));
  }
  if (const Value* const any = TRY(reader.optional_value("nodes_any_of")); any != nullptr) {
    shape.nodes_any_of.clear();
    Result<std::span<const Value>> items = any->as_list();
    const std::string path = reader.path_of("nodes_any_of");
    if (!items) return fail(at_value(std::move(items).error(), path, *any));
    for (const Value& item : *items) {
      const std::string inner = fmt::format("{}[{}]", path, shape.nodes_any_of.size());
      shape.nodes_any_of.push_back(TRY(selector_of(item, inner)));
    }
  }
  if (TRY(reader.optional_value("nodes_preferred")) != nullptr) {
    shape.preferred_nodes = TRY(reader.list("nodes_preferred", read_preferred));
  }
  return {};
}

Result<void> read_devices(Reader& reader, TaskShape& shape, const Catalog* catalog) {
  std::vector<DeviceRequest> requests;
  bool given = false;
  for (const std::string_view field : {"gpus", "gpu", "npus", "npu", "devices"}) {
    given |= TRY(reader.optional_value(field)) != nullptr;
  }
  TRY(read_kind(reader, "gpu", catalog, requests));
  TRY(read_kind(reader, "npu", catalog, requests));
  const auto any_kind = [catalog](Reader& inner) { return read_request(inner, "", catalog); };
  for (DeviceRequest& request : TRY(reader.list("devices", any_kind))) {
    requests.push_back(std::move(request));
  }
  if (given) shape.devices = std::move(requests);
  return {};
}

}  // namespace

Result<TaskShape> read_shape(Reader& reader, TaskShape base, const Catalog* catalog) {
  base.resources = TRY(read_amounts(reader, std::move(base.resources), Zeros::drop));
  TRY(read_devices(reader, base, catalog));
  TRY(read_nodes(reader, base));
  if (TRY(reader.optional_value("tolerations")) != nullptr) {
    base.tolerations = TRY(read_tolerations(reader));
  }
  TRY(read_each(reader, "stack", base.stack, [](const Value& item) -> Result<StackRequirement> {
    const auto text = item.as_text();
    if (!text) return fail(text.error());
    return stack_of(*text);
  }));
  TRY(read_each(reader, "ports", base.ports, [](const Value& item) -> Result<HostPort> {
    if (item.is(Kind::map)) return decode(item, "port", read_port_map);
    return port_of(item);
  }));
  TRY(read_neighbours(reader, base));
  return base;
}

Result<MixSet::Entry> read_mix_entry(Reader& reader, const Catalog* catalog) {
  MixSet::Entry entry;
  entry.count = static_cast<std::uint32_t>(
      TRY(reader.optional_integer("weight", 1, 1'000'000'000)).value_or(1));
  entry.shape = TRY(read_shape(reader, {}, catalog));
  return entry;
}

}  // namespace tutti
