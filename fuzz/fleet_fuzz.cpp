/// Any bytes: parse_fleet refuses them at a place, or every node and queue it returns is
/// admissible.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "dialect/tutti.h"
#include "model/catalog.h"
#include "model/state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tutti;
  static const Catalog catalog = Catalog::builtin().value();
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto fleet = parse_fleet(text, "fuzz", &catalog);
  if (!fleet) {
    CHECK(!fleet.error().what.empty());
    CHECK(!fleet.error().where.empty(), fleet.error().what);
    return 0;
  }
  CHECK(!fleet->nodes.empty());
  if (fleet->nodes.size() > 100) return 0;  // Ranges make many equal ones.
  State state;
  for (const NodeSpec& node : fleet->nodes) {
    const NodeReported event{node};
    // The lanes of all nodes together are limited; what one node says must be right by itself.
    const auto good = state.admissible(event);
    if (good) state.apply(event, state.now());
    CHECK(good || good.error().code == Code::limit, good.error().what);
  }
  for (const QueueSpec& queue : fleet->queues) {
    const auto good = state.admissible(QueueSet{queue});
    CHECK(good.has_value(), good.error().what);
  }
  CHECK(state.verify().empty(), state.verify());
  return 0;
}
