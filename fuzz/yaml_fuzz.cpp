/// Any bytes: parse_yaml refuses them, or what to_yaml writes of the result is read back equal.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "format/json.h"
#include "format/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tutti;
  const auto documents = parse_yaml({reinterpret_cast<const char*>(bytes), size});
  if (!documents) {
    CHECK(!documents.error().what.empty());
    return 0;
  }
  for (const Value& document : *documents) {
    const std::string text = to_yaml(document);
    const auto back = parse_yaml(text);
    CHECK(back.has_value(), back.error().what, text);
    CHECK(back->size() == 1, text);
    CHECK(back->front() == document, text);
    CHECK(to_yaml(back->front()) == text, text);
    CHECK(parse_json(to_json(document)).has_value(), text);
  }
  return 0;
}
