/// Any bytes as a line of a journal: it is refused with a place, or what is written of the event is
/// read back as the same event. State says whether it would accept it, without harm.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "model/codec.h"
#include "model/state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tutti;
  const auto first = decode_event({reinterpret_cast<const char*>(bytes), size});
  if (!first) {
    CHECK(!first.error().what.empty());
    CHECK(first.error().where.find(':') != std::string::npos, first.error().what);
    return 0;
  }
  const std::string line = encode(first->first, first->second);
  const auto second = decode_event(line);
  CHECK(second.has_value(), line, second.error().what);
  CHECK(second->second == first->second, line);
  CHECK(second->first.index() == first->first.index(), line);
  CHECK(encode(second->first, second->second) == line, line);
  const State state;
  const auto admitted = state.admissible(first->first);
  CHECK(admitted.has_value() || !admitted.error().what.empty(), line);
  return 0;
}
