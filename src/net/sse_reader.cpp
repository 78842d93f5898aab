#include "net/sse_reader.h"

#include <utility>

namespace tutti::net {

void SseReader::feed(std::string_view piece, const Take& take) {
  while (!piece.empty()) {
    if (std::exchange(after_return_, false) && piece.front() == '\n') {
      piece.remove_prefix(1);
      continue;
    }
    const std::size_t end = piece.find_first_of("\r\n");
    if (end == std::string_view::npos) {
      half_line_ += piece;
      return;
    }
    half_line_ += piece.substr(0, end);
    after_return_ = piece[end] == '\r';
    piece.remove_prefix(end + 1);
    line(std::exchange(half_line_, {}), take);
  }
}

void SseReader::line(std::string_view text, const Take& take) {
  if (text.empty()) return end_message(take);
  const std::size_t colon = text.find(':');
  const std::string_view field = text.substr(0, colon);
  std::string_view value;
  if (colon != std::string_view::npos) value = text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "id" && value.find('\0') == std::string_view::npos) next_id_ = value;
  if (field == "event") event_ = value;
  if (field != "data") return;
  if (std::exchange(has_data_, true)) data_ += '\n';
  data_ += value;
}

void SseReader::end_message(const Take& take) {
  last_id_ = next_id_;
  Message message{.id = last_id_, .data = std::exchange(data_, {})};
  if (!event_.empty()) message.event = std::exchange(event_, {});
  if (std::exchange(has_data_, false)) take(message);
}

void SseReader::restart() {
  half_line_.clear();
  after_return_ = false;
  next_id_ = last_id_;
  event_.clear();
  data_.clear();
  has_data_ = false;
}

}  // namespace tutti::net
