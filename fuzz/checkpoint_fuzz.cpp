/// Any bytes as a checkpoint: they are refused with a place, or are a State that is the same after
/// it was written and read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "model/checkpoint.h"

namespace {

using namespace tutti;

constexpr std::uint64_t rows_most = 100'000;

Result<void> read(std::string_view bytes, State& state) {
  CheckpointReader reader(bytes, rows_most);
  TRY(reader.read(state));
  return reader.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  State state;
  const auto done = read({reinterpret_cast<const char*>(bytes), size}, state);
  if (!done) {
    CHECK(done.error().where.starts_with("byte "), done.error().where, done.error().what);
    return 0;
  }
  std::string written;
  CheckpointWriter writer(state, [&](std::string_view piece) { written += piece; });
  writer.finish();
  State again;
  CHECK(read(written, again).has_value());
  CHECK(again.hash() == state.hash());
  return 0;
}
