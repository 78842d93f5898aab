/// Any bytes: the lines of a watch are the same however the stream is cut, none is longer than the
/// limit, and what stands in an event stands in its line. Also lists.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/kubernetes/api_failure.h"
#include "backend/kubernetes/line_splitter.h"
#include "backend/kubernetes/watch_event.h"
#include "base/check.h"

namespace {

using namespace tutti;

constexpr std::size_t line_bytes_max = 200;

/// The lines of `bytes` in pieces of `piece`, those that are too long marked.
std::string lines_of(std::string_view bytes, std::size_t piece) {
  LineSplitter splitter(line_bytes_max);
  std::string out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    splitter.feed(bytes.substr(0, piece), [&](std::string_view line, bool whole) {
      CHECK(!whole || line.size() <= line_bytes_max, line.size());
      out += whole ? std::string(line) + "\n" : "too long\n";
      return true;
    });
  }
  return out;
}

bool stands_in(std::string_view part, std::string_view text) {
  return part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const std::string whole = lines_of(text, size + 1);
  CHECK(whole == lines_of(text, 1));
  CHECK(whole == lines_of(text, 7));
  LineSplitter splitter(line_bytes_max);
  splitter.feed(text, [&](std::string_view line, bool is_whole) {
    if (const auto event = read_watch_event(line)) {
      CHECK(is_whole || !event->object.empty());
      CHECK(stands_in(event->object, line));
      if (const auto head = read_object_head(event->object)) CHECK(!head->version.empty());
      read_status(event->object);
    }
    return true;
  });
  const auto list = read_list(text, [&](std::string_view item) {
    CHECK(stands_in(item, text));
    return true;
  });
  if (list) CHECK(!list->version.empty());
  return 0;
}
