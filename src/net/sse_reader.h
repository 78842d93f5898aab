/// Reads a text/event-stream as it comes, in pieces of any size.
///
///   SseReader reader;
///   reader.feed(piece, [&](const SseReader::Message& message) { ... });
///
/// As the standard has it: lines end in LF, CR or both; comments and unknown fields mean nothing;
/// a message ends with an empty line, and one without data only sets the id to come back with.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tutti::net {

class SseReader {
 public:
  struct Message {
    std::string id;  ///< The last one that was given, maybe by an earlier message.
    std::string event = "message";
    std::string data;  ///< Lines, with LF between them.
  };
  using Take = std::function<void(const Message&)>;

  void feed(std::string_view piece, const Take& take);
  /// What belongs into the header Last-Event-ID when the connection broke here; empty: nothing.
  const std::string& last_id() const { return last_id_; }
  /// A new connection: what was half read is forgotten, the id is not.
  void restart();

 private:
  void line(std::string_view text, const Take& take);
  void end_message(const Take& take);

  std::string half_line_;
  bool after_return_ = false;  ///< A LF that follows ends no line of its own.
  std::string last_id_;
  std::string next_id_;  ///< Becomes last_id_ when its message is complete.
  std::string event_;
  std::string data_;
  bool has_data_ = false;
};

}  // namespace tutti::net
