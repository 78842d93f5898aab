/// The description of the API, as the server shows it.
#pragma once

#include <string>

namespace tutti {

/// src/api/openapi.yaml as JSON.
std::string openapi_json();

}  // namespace tutti
