/// Policy files: which scores run, with what weights, as docs/formats.md describes them.
#pragma once

#include <string_view>

#include "base/result.h"
#include "policy/registry.h"

namespace tutti {

/// Reads and checks a policy file. Errors stand at "line:column".
Result<PolicyRecipe> parse_policy(std::string_view yaml);

}  // namespace tutti
