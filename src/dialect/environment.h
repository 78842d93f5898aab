/// The variables of a job's environment, and the form in which they are kept apart from it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

struct Variable {
  std::string name;   ///< Not empty, without '=' and NUL.
  std::string value;  ///< Without NUL.
  friend bool operator==(const Variable&, const Variable&) = default;
};

/// "NAME=value" one after the other, each ended by NUL, as a process has them.
std::string encode_environment(std::span<const Variable> variables);
Result<std::vector<Variable>> decode_environment(std::string_view text);

}  // namespace tutti
