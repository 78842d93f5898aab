/// Any bytes: each parser refuses them, or its writer's text is read back as the same number; units
/// and thousandths of one text agree.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "format/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto units = parse_quantity(text);
  const auto milli = parse_quantity_milli(text);
  if (units) CHECK(parse_quantity(quantity_text(*units)).value() == *units, *units);
  if (milli) {
    CHECK(parse_quantity_milli(quantity_milli_text(*milli)).value() == *milli, *milli);
    CHECK(units.has_value(), text);  // Thousandths are the larger number.
    CHECK(*units == *milli / 1000 + (*milli % 1000 > 0 ? 1 : 0), *units, *milli);
    CHECK(!bytes_text(*units).empty());
  }
  const auto negative = parse_quantity("-" + std::string(text), Sign::any);
  if (units && !text.starts_with('+') && !text.starts_with('-'))
    CHECK(*negative == -*units, *units);
  if (const auto fixed = parse_fixed(text, 0)) CHECK(*fixed <= units.value(), *fixed);
  if (const auto length = parse_duration(text)) {
    CHECK(parse_duration(duration_text(*length)).value() == *length, length->us);
    CHECK(!to_text(*length).empty());
  }
  return 0;
}
