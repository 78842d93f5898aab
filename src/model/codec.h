/// Events <-> lines of JSON, the form in which a journal keeps them for ever:
///
///   {"tag":8,"version":1,"at":1500000,"id":7}
///
/// Round trips are exact: decode_event(encode(e, t)) equals (e, t) for every event. A field that
/// has its default is left out, so that a field added later means, where it is absent, what its
/// absence meant. Fields are listed once, in codec_fields.h.
///
/// A tag is never given to another meaning. When the fields of a tag change otherwise than by an
/// addition, its version grows by one, and an upcaster lifts lines of the old version to the new
/// one; upcasters are pure and are never removed.
/// Complexity: linear in the line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "format/value.h"
#include "model/event.h"

namespace tutti {

/// Lifts an event of version `from` to version `from + 1`.
struct Upcaster {
  std::uint16_t tag = 0;
  std::uint16_t from = 1;
  /// Takes and returns the whole object; tag, version and at are not its concern.
  Result<Value> (*lift)(const Value& event) = nullptr;
};

/// All there are, by tag and then by version without a gap.
std::span<const Upcaster> upcasters();

/// The version of that tag that is current when these are all its upcasters.
std::uint16_t version_of(std::uint16_t tag, std::span<const Upcaster> known);

/// One line, without its end.
std::string encode(const Event& event, Instant at);

/// Unknown tags, versions and fields are errors, as is anything that is not what encode writes,
/// up to blanks and the order of fields. Errors stand at "1:column" of the line.
Result<std::pair<Event, Instant>> decode_event(std::string_view line,
                                               std::span<const Upcaster> known = upcasters());

}  // namespace tutti
