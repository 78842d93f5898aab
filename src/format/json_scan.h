/// The pieces of JSON text as text: what an object's member or a list's element spans, found by
/// quotes and brackets alone, for readers that want little of much or hand it on.
///
///   JsonPieces event(line);
///   while (const auto member = TRY(event.next_member())) {
///     if (member->key == "object") object = member->value;
///   }
///
/// Nothing inside a piece is checked: whoever parses it finds out. Complexity: linear, no copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tutti {

/// Finds the end of one value, across any number of pieces of text.
class JsonEnd {
 public:
  /// How many bytes of `piece` belong to the value; `done()` tells whether it ends there.
  std::size_t scan(std::string_view piece);
  bool done() const { return done_; }

 private:
  std::size_t in_text(std::string_view piece, std::size_t from);
  std::size_t outside(std::string_view piece, std::size_t from);

  std::uint64_t depth_ = 0;
  bool inside_ = false;
  bool escaped_ = false;
  bool done_ = false;
};

/// The parts of one object or list. `text` must outlive it and what it returns.
class JsonPieces {
 public:
  struct Member {
    std::string_view key;    ///< As it stands between its quotes.
    std::string_view value;  ///< With its quotes or brackets.
  };

  explicit JsonPieces(std::string_view text) : text_(text) {}

  /// Nothing after the last one. An error where the text is no object.
  Result<std::optional<Member>> next_member();
  /// The same for a list.
  Result<std::optional<std::string_view>> next_element();

 private:
  /// Goes to the next part, or says that there is none.
  Result<bool> step(char open, char close);
  Result<std::string_view> value();
  void skip_spaces();

  std::string_view text_;
  std::size_t at_ = 0;
  bool begun_ = false;
  bool over_ = false;
};

/// The member of that name of an object, or an empty text; also where it is null.
Result<std::string_view> json_member(std::string_view object, std::string_view name);

/// What a piece says that is text. An error, without the piece, where it is anything else.
Result<std::string> json_text(std::string_view piece);

}  // namespace tutti
