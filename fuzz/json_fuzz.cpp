/// Any bytes: parse_json refuses them, or what to_json and to_yaml write of the result is read back
/// equal; JsonItems reads the same elements whether it gets them whole or byte by byte.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "format/json.h"
#include "format/yaml.h"

namespace {

std::string read_items(std::string_view text, std::string name, std::size_t piece) {
  tutti::JsonItems items(tutti::source_of(text, piece), std::move(name));
  std::string out;
  while (true) {
    const auto item = items.next();
    if (!item) return out + item.error().text();
    if (!*item) break;
    out += (*item)->place().text() + " " + to_json(**item) + "\n";
  }
  const auto rest = items.rest();
  return out + (rest ? to_json(*rest) : rest.error().text());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  CHECK(read_items(text, "items", 1) == read_items(text, "items", size + 1));
  CHECK(read_items(text, "", 1) == read_items(text, "", size + 1));
  const auto value = parse_json(text);
  if (!value) {
    CHECK(!value.error().where.empty(), value.error().what);
    return 0;
  }
  for (const JsonStyle style : {JsonStyle::compact, JsonStyle::indented}) {
    const auto back = parse_json(to_json(*value, style));
    CHECK(back.has_value(), back.error().what);
    CHECK(*back == *value);
  }
  const auto yaml = parse_yaml(to_yaml(*value));
  CHECK(yaml.has_value(), yaml.error().what);
  CHECK(yaml->size() == 1 && yaml->front() == *value);
  return 0;
}
