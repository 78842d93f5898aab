/// Any bytes: parse refuses them with a place, or the canonical text is read back as the same
/// expression, which matches the same devices.
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/check.h"
#include "model/attribute.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tutti;
  static const std::array<DeviceType, 3> devices{
      {{},
       {.model = "A100-80G",
        .vendor = "nvidia",
        .memory_mib = 81'920,
        .profile = "1g.10gb",
        .attributes = {{.name = "a", .text = "b"},
                       {.name = "compute_capability", .number = 8'000},
                       {.name = "fp8", .number = 1}}},
       {.model = "x",
        .vendor = "",
        .kind = DeviceKind::npu,
        .memory_mib = std::numeric_limits<std::int64_t>::max(),
        .profile = {},
        .attributes = {{.name = "a", .number = std::numeric_limits<std::int64_t>::min()}}}}};
  const auto first = AttributeExpression::parse({reinterpret_cast<const char*>(bytes), size});
  if (!first) {
    CHECK(first.error().where.starts_with("1:"), first.error().where);
    return 0;
  }
  const auto second = AttributeExpression::parse(first->text());
  CHECK(second.has_value(), first->text());
  CHECK(*second == *first, first->text(), second->text());
  for (const DeviceType& device : devices) {
    CHECK(first->matches(device) == second->matches(device), first->text(), device.model);
  }
  return 0;
}
