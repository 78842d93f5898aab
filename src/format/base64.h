/// Base64 of RFC 4648 with its usual alphabet, as Kubernetes writes bytes into JSON and YAML.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tutti {

std::string to_base64(std::string_view bytes);

/// Line ends are passed over, the padding must be there. The error does not show the text, which
/// may be a key.
Result<std::string> parse_base64(std::string_view text);

}  // namespace tutti
