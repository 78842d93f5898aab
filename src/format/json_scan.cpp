#include "format/json_scan.h"

#include <algorithm>
#include <array>

#include "format/json.h"

namespace tutti {
namespace {

constexpr std::string_view json_spaces = " \t\r\n";

/// The characters that matter to where a list or an object ends.
constexpr std::array<bool, 256> steers = [] {
  std::array<bool, 256> out{};
  for (const unsigned char c : {'"', '{', '}', '[', ']'}) out[c] = true;
  return out;
}();

std::unexpected<Error> no_json(std::string_view what) {
  return fail(Code::invalid, "this is no JSON: " + std::string(what));
}

}  // namespace

std::size_t JsonEnd::scan(std::string_view piece) {
  std::size_t at = 0;
  while (at < piece.size() && !done_) at += inside_ ? in_text(piece, at) : outside(piece, at);
  return at;
}

std::size_t JsonEnd::in_text(std::string_view piece, std::size_t from) {
  if (escaped_) {
    escaped_ = false;
    return 1;
  }
  const std::size_t quote = std::min(piece.find('"', from), piece.size());
  const std::size_t escape = piece.substr(0, quote).find('\\', from);
  if (escape != piece.npos) {
    escaped_ = true;
    return escape + 1 - from;
  }
  if (quote == piece.size()) return quote - from;
  inside_ = false;
  done_ = depth_ == 0;
  return quote + 1 - from;
}

std::size_t JsonEnd::outside(std::string_view piece, std::size_t from) {
  std::size_t at = from;
  for (; at < piece.size(); ++at) {
    const char c = piece[at];
    if (depth_ > 0 && !steers[static_cast<unsigned char>(c)]) continue;
    if (c == '"') {
      inside_ = true;
      return at + 1 - from;
    }
    const bool closes = c == '}' || c == ']';
    if (depth_ == 0 && (closes || c == ',' || c == ':' || json_spaces.find(c) != piece.npos)) {
      done_ = true;  // Behind a number or a word.
      return at - from;
    }
    if (c == '{' || c == '[') ++depth_;
    if (closes && --depth_ == 0) {
      done_ = true;
      return at + 1 - from;
    }
  }
  return at - from;
}

void JsonPieces::skip_spaces() {
  at_ = std::min(text_.find_first_not_of(json_spaces, at_), text_.size());
}

Result<bool> JsonPieces::step(char open, char close) {
  if (over_) return false;
  skip_spaces();
  const auto here = [&] { return at_ < text_.size() ? text_[at_] : '\0'; };
  if (!begun_) {
    if (here() != open) return no_json(std::string("a '") + open + "' is missing");
    ++at_;
    skip_spaces();
  }
  if (here() == close) {
    ++at_;
    skip_spaces();
    if (at_ < text_.size()) return no_json("something follows its end");
    over_ = true;
    return false;
  }
  if (begun_) {
    if (here() != ',') return no_json("a comma is missing");
    ++at_;
    skip_spaces();
  }
  begun_ = true;
  return true;
}

Result<std::string_view> JsonPieces::value() {
  skip_spaces();
  JsonEnd end;
  const std::string_view rest = text_.substr(at_);
  const std::size_t size = end.scan(rest);
  if (!end.done()) return no_json("it ends in the middle");
  if (size == 0) return no_json("a value is missing");
  at_ += size;
  return rest.substr(0, size);
}

Result<std::optional<JsonPieces::Member>> JsonPieces::next_member() {
  const bool more = TRY(step('{', '}'));
  if (!more) return std::nullopt;
  const std::string_view key = TRY(value());
  if (!key.starts_with('"')) return no_json("a name is missing");
  skip_spaces();
  if (at_ == text_.size() || text_[at_] != ':') return no_json("a colon is missing");
  ++at_;
  const std::string_view content = TRY(value());
  return Member{.key = key.substr(1, key.size() - 2), .value = content};
}

Result<std::optional<std::string_view>> JsonPieces::next_element() {
  const bool more = TRY(step('[', ']'));
  if (!more) return std::nullopt;
  return TRY(value());
}

Result<std::string_view> json_member(std::string_view object, std::string_view name) {
  JsonPieces pieces(object);
  for (;;) {
    const auto member = TRY(pieces.next_member());
    if (!member) return std::string_view();
    if (member->key == name) return member->value == "null" ? std::string_view() : member->value;
  }
}

Result<std::string> json_text(std::string_view piece) {
  const bool quoted = piece.size() >= 2 && piece.starts_with('"') && piece.ends_with('"');
  if (quoted && piece.find('\\') == piece.npos) {
    return std::string(piece.substr(1, piece.size() - 2));
  }
  const auto parsed = parse_json(piece);
  if (!parsed || !parsed->is(Kind::text)) return no_json("text is missing");
  return std::string(parsed->text_value());
}

}  // namespace tutti
