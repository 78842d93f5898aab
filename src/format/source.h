/// Where a streaming reader pulls its bytes from: this folder opens no files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace tutti {

/// Fills the start of the span and returns how many bytes it wrote: 0 only at the end, for ever
/// after. An error ends the reading and reaches the reader's caller unchanged.
using Source = std::function<Result<std::size_t>(std::span<char>)>;

/// Hands out `text` in pieces of at most `piece` bytes. `text` must outlive the source.
inline Source source_of(std::string_view text, std::size_t piece = std::size_t{1} << 16U) {
  return [text, piece](std::span<char> room) mutable -> Result<std::size_t> {
    const std::size_t count = std::min({text.size(), room.size(), piece});
    std::memcpy(room.data(), text.data(), count);
    text.remove_prefix(count);
    return count;
  };
}

}  // namespace tutti
