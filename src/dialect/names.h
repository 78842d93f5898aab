/// Names in files, and ranges that stand for many of them: "gpu-[00-15]", "r[1-2]-n[0-7,9]".
///
/// Several ranges multiply, the last one running fastest. Numbers are as wide as the first one of
/// their range is written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

/// At most `most` names; more are Code::limit. Errors carry no place.
Result<std::vector<std::string>> expand_names(std::string_view pattern, std::size_t most);

/// Not empty, at most limits::name_length bytes, without blanks and control characters.
Result<void> check_name(std::string_view name);

}  // namespace tutti
