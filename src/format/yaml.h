/// YAML text <-> values.
///
/// The core schema of YAML 1.2, narrowed so that nothing is read differently from what was meant:
/// only plain scalars become null (null, ~, empty), booleans (true, false) or numbers, each word in
/// lower case, capitalised or in capitals; `no`, `on`, `8Gi`, `0644` and `.inf` stay text. Tags,
/// merge keys and keys that are not scalars are refused, as are duplicate keys, invalid UTF-8, NUL
/// and text beyond the limits below and in base/limits.h. Limits hold for a whole call, since all
/// of its documents are in memory at once.
/// Complexity: linear in the text plus what aliases copy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/value.h"

namespace tutti {

/// Bytes that anchors and aliases of one call may copy: real manifests need kilobytes, and nested
/// aliases ("billion laughs") would need terabytes.
inline constexpr std::uint64_t yaml_alias_bytes = std::uint64_t{16} << 20U;

/// The documents of `text`, none for an empty one. An error's place is "line:column".
Result<std::vector<Value>> parse_yaml(std::string_view text);

/// One document in block style, ending in a newline. parse_yaml reads it back as an equal value.
/// Text is quoted where any YAML 1.1 or 1.2 reader could take it for something else, and stands as
/// a literal block when it has several lines. Invalid UTF-8 becomes U+FFFD; NUL cannot be read
/// back.
std::string to_yaml(const Value& value);

}  // namespace tutti
