/// How answers of a server are shown to people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/value.h"

namespace tutti {

/// Of an answer of /api/v1/nodes.
std::string table_of_nodes(const Value& all);
/// Of answers of /api/v1/jobs; `fields`: which of them, by comma.
std::string table_of_jobs(const std::vector<Value>& pages, std::string_view fields);

}  // namespace tutti
