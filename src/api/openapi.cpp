#include "api/openapi.h"

#include "base/check.h"
#include "format/json.h"
#include "format/yaml.h"
#include "generated/openapi.h"

namespace tutti {

std::string openapi_json() {
  const auto documents = parse_yaml(embedded::openapi().front().second);
  CHECK(documents.has_value());
  return to_json(documents->front());
}

}  // namespace tutti
