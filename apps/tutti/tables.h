/// How answers of a server are shown to people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/value.h"

namespace tutti {

/// A field as a cell of a table; "-" where it is not there, or null.
std::string text_of(const Value& object, std::string_view field);
/// The same, and "-" for an empty text.
std::string word_of(const Value& object, std::string_view field);
/// "2026-11-30 12:00:05", without fractions.
std::string time_of(const Value& object, std::string_view field);
/// " would start on n0", or why not: of a job in the answer to a what-if or a dry run. Lines.
std::string fate_text(const Value& job);
/// Of an answer of /api/v1/nodes.
std::string table_of_nodes(const Value& all);
/// Of answers of /api/v1/jobs; `fields`: which of them, by comma.
std::string table_of_jobs(const std::vector<Value>& pages, std::string_view fields);

}  // namespace tutti
