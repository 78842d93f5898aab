#include "model/codec.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "format/json.h"
#include "model/codec_read.h"
#include "model/codec_write.h"

namespace tutti {
namespace {

using codec::mismatch;

constexpr std::array<std::string_view, 3> envelope_names{"tag", "version", "at"};

struct Envelope {
  std::uint16_t tag = 0;
  std::uint16_t version = 0;
  std::int64_t at = 0;
};

template <class T>
Result<void> read_required(const Value& line, std::string_view name, T& out) {
  const Value* const found = line.find(name);
  if (found == nullptr) {
    return fail({.code = Code::invalid,
                 .what = ": " + std::string(name) + " is missing",
                 .where = line.place().text(),
                 .hint = {}});
  }
  if (auto done = codec::read(*found, out); !done) {
    return fail(codec::inside(name, std::move(done).error()));
  }
  return {};
}

Result<Envelope> read_envelope(const Value& line) {
  if (!line.is(Kind::map)) return mismatch(line, "a map");
  Envelope out;
  TRY(read_required(line, "tag", out.tag));
  TRY(read_required(line, "version", out.version));
  TRY(read_required(line, "at", out.at));
  return out;
}

/// What a default cannot stand for.
Result<void> check(const auto&) { return {}; }
Result<void> check(const JobSubmitted& event) {
  if (event.spec != nullptr) return {};
  return fail(Code::invalid, ": spec is missing");
}

template <std::size_t at = 0>
Result<Event> read_event(std::uint16_t tag, const Value& line) {
  if constexpr (at == std::variant_size_v<Event>) {
    return fail(Code::unsupported, ": no event has tag " + std::to_string(tag),
                "a newer version of Tutti may know it");
  } else {
    using Alternative = std::variant_alternative_t<at, Event>;
    if (tag != Alternative::tag) return read_event<at + 1>(tag, line);
    Alternative event;
    TRY(codec::read_members(line, event, envelope_names));
    TRY(check(event));
    return event;
  }
}

/// The line in the current version of its tag.
Result<Value> lifted(Value line, const Envelope& envelope, std::span<const Upcaster> known) {
  const std::uint16_t current = version_of(envelope.tag, known);
  if (envelope.version == 0 || envelope.version > current) {
    return fail(Code::unsupported,
                ": version " + std::to_string(envelope.version) + " of tag " +
                    std::to_string(envelope.tag) + " is unknown; the newest one known is " +
                    std::to_string(current),
                "a newer version of Tutti may know it");
  }
  for (const Upcaster& step : known) {
    if (step.tag == envelope.tag && step.from >= envelope.version) line = TRY(step.lift(line));
  }
  return line;
}

Result<std::pair<Event, Instant>> decode_value(Value line, std::span<const Upcaster> known) {
  const Envelope envelope = TRY(read_envelope(line));
  const Value current = TRY(lifted(std::move(line), envelope, known));
  return std::pair(TRY(read_event(envelope.tag, current)), Instant{envelope.at});
}

}  // namespace

std::span<const Upcaster> upcasters() { return {}; }

std::uint16_t version_of(std::uint16_t tag, std::span<const Upcaster> known) {
  std::uint16_t version = 1;
  for (const Upcaster& step : known) {
    if (step.tag != tag) continue;
    CHECK(step.from == version, tag, step.from, version);
    ++version;
  }
  return version;
}

std::string encode(const Event& event, Instant at) {
  std::string line;
  JsonWriter json(line);
  const std::uint16_t tag = tag_of(event);
  json.begin_object().member("tag", tag).member("version", version_of(tag, upcasters()));
  json.member("at", at.us);
  codec::Writer writer(json);
  std::visit([&](const auto& alternative) { writer.members(alternative); }, event);
  json.end_object();
  return line;
}

Result<std::pair<Event, Instant>> decode_event(std::string_view line,
                                               std::span<const Upcaster> known) {
  Value value = TRY(parse_json(line));
  auto decoded = decode_value(std::move(value), known);
  if (decoded) return decoded;
  Error error = std::move(decoded).error();
  if (error.what.starts_with(": ")) error.what.erase(0, 2);
  if (error.where.empty()) error.where = "1:1";
  return fail(std::move(error));
}

}  // namespace tutti
