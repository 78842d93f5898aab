/// What a list or a watch sends, read as far as its client must: the rest goes on as text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tutti {

/// Of an object's metadata.
struct ObjectHead {
  std::string space;  ///< namespace; may be empty.
  std::string name;
  std::string uid;
  std::string version;        ///< resourceVersion
  bool ends_initial = false;  ///< Annotated as the end of what a watch sends first.
};
Result<ObjectHead> read_object_head(std::string_view object);

struct WatchEvent {
  enum class Type : std::uint8_t { added, modified, deleted, bookmark, error };
  Type type = Type::added;
  std::string_view object;  ///< Stands in the line that was read.
};
Result<WatchEvent> read_watch_event(std::string_view line);

/// Of a list's metadata.
struct ListHead {
  std::string version;
  std::string next;  ///< continue; empty: that was all.
};
/// Calls `take` with each item until it says false.
Result<ListHead> read_list(std::string_view body,
                           const std::function<bool(std::string_view)>& take);

/// Does `a` come after `b`? Where that cannot be told, it does.
bool is_newer(std::string_view a, std::string_view b);

}  // namespace tutti
