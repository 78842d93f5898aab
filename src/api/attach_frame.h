/// What goes over a connection to a task: frames of a letter, a length and bytes.
///
/// From whoever looks: 'i' what is typed, 'e' no more is, 'w' "ROWS COLUMNS", 's' the number of a
/// signal. To him: 'b' it has begun, 'o' what it wrote, 'x' how it ended, as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tutti {

inline constexpr std::string_view attach_protocol = "tutti-attach";
/// Longer ones are refused.
inline constexpr std::size_t frame_bytes_most = std::size_t{64} << 10U;

inline std::string frame(char kind, std::string_view bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::string out(1, kind);
  for (const unsigned shift : {24U, 16U, 8U, 0U}) out += static_cast<char>(size >> shift & 0xffU);
  return out.append(bytes);
}

/// Puts frames together again from pieces of any size.
class FrameReader {
 public:
  /// Calls `take` with each frame that is whole by now. An error: it is none of this protocol.
  Result<void> add(std::string_view bytes,
                   const std::function<void(char kind, std::string_view bytes)>& take) {
    constexpr std::size_t head = 5;
    rest_ += bytes;
    std::size_t at = 0;
    while (rest_.size() - at >= head) {
      std::size_t size = 0;
      for (std::size_t digit = 1; digit < head; ++digit) {
        size = size << 8U | static_cast<unsigned char>(rest_[at + digit]);
      }
      if (size > frame_bytes_most) {
        return fail(Code::invalid, "a frame of " + std::to_string(size) + " bytes; at most " +
                                       std::to_string(frame_bytes_most) + " are allowed");
      }
      if (rest_.size() - at - head < size) break;
      take(rest_[at], std::string_view(rest_).substr(at + head, size));
      at += head + size;
    }
    rest_.erase(0, at);
    return {};
  }

 private:
  std::string rest_;
};

}  // namespace tutti
