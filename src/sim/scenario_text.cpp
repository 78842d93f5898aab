#include "sim/scenario_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "format/text.h"

namespace tutti {
namespace {

constexpr std::string_view blanks = " \t";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return text.substr(text.size());
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

bool blank(char c) { return c == ' ' || c == '\t'; }

/// Walks over text and knows what is quoted or in brackets.
class Walk {
 public:
  /// The character at `at` was passed.
  void pass(std::string_view text, std::size_t at) {
    const char c = text[at];
    if (quote_ != 0) {
      if (c == quote_) quote_ = 0;
      return;
    }
    const bool begins = at == 0 || blank(text[at - 1]) || text[at - 1] == '[' ||
                        text[at - 1] == '{' || text[at - 1] == ',';
    if ((c == '"' || c == '\'') && begins) quote_ = c;
    if (c == '[' || c == '{') ++depth_;
    if ((c == ']' || c == '}') && depth_ > 0) --depth_;
  }
  bool quoted() const { return quote_ != 0; }
  bool plain() const { return quote_ == 0 && depth_ == 0; }

 private:
  char quote_ = 0;
  int depth_ = 0;
};

/// Where the comment of a line starts, or its end.
std::size_t comment_of(std::string_view line) {
  Walk walk;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '#' && !walk.quoted() && (at == 0 || blank(line[at - 1]))) return at;
    walk.pass(line, at);
  }
  return line.size();
}

/// The place of a part of a line.
Place place_in(std::string_view line, std::string_view part, std::uint32_t number) {
  const auto offset = static_cast<std::size_t>(part.data() - line.data());
  return Place{number, 1}.after(line.substr(0, offset));
}

/// The colon that ends the words, or the end.
std::size_t colon_of(std::string_view text) {
  Walk walk;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool last = at + 1 == text.size() || blank(text[at + 1]);
    if (text[at] == ':' && last && walk.plain()) return at;
    walk.pass(text, at);
  }
  return text.size();
}

void split_words(Statement& statement, std::string_view line, std::string_view head) {
  Walk walk;
  std::size_t begin = std::string_view::npos;
  for (std::size_t at = 0; at <= head.size(); ++at) {
    const bool between = at == head.size() || (blank(head[at]) && !walk.quoted());
    if (between && begin != std::string_view::npos) {
      const std::string_view word = head.substr(begin, at - begin);
      statement.words.push_back({word, place_in(line, word, statement.line)});
      begin = std::string_view::npos;
    }
    if (!between && begin == std::string_view::npos) begin = at;
    if (at < head.size()) walk.pass(head, at);
  }
}

Statement statement_of(std::string_view line, std::uint32_t number) {
  Statement out{.line = number};
  const std::size_t comment = comment_of(line);
  out.comment = trimmed(line.substr(comment));
  out.text = trimmed(line.substr(0, comment));
  const std::size_t colon = colon_of(out.text);
  split_words(out, line, out.text.substr(0, colon));
  out.colon = colon < out.text.size();
  const std::string_view rest = trimmed(out.text.substr(std::min(colon + 1, out.text.size())));
  out.rest = {rest, place_in(line, rest, number)};
  return out;
}

Result<void> check_characters(std::string_view line, std::uint32_t number) {
  const std::size_t null = line.find('\0');
  const std::size_t bad = std::min(null, first_invalid_utf8(line).value_or(line.npos));
  if (bad == line.npos) return {};
  return fail(Error{Code::invalid, bad == null ? "a NUL character" : "this is no UTF-8",
                    place_in(line, line.substr(bad), number).text(), "save the file as UTF-8"});
}

}  // namespace

Error wrong_at(const ScenarioWord& word, std::string what, std::string hint) {
  return {Code::invalid, std::move(what), word.place.text(), std::move(hint)};
}

Error wrong_at(const Statement& statement, std::string what, std::string hint) {
  const Place start{statement.line, 1};
  return {Code::invalid, std::move(what), start.text(), std::move(hint)};
}

Result<std::vector<Statement>> split_statements(std::string_view text) {
  std::vector<Statement> out;
  if (text.size() > scenario_bytes) {
    return fail(Error{Code::limit,
                      fmt::format("the scenario has more than {} bytes", scenario_bytes),
                      "1:1",
                      {}});
  }
  std::uint32_t number = 0;
  std::size_t block_begin = 0;
  for (std::size_t begin = text.starts_with("\xef\xbb\xbf") ? 3 : 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (++number > scenario_lines) {
      return fail(Error{Code::limit, fmt::format("more than {} lines", scenario_lines),
                        Place{number, 1}.text(), "make several scenarios of it"});
    }
    TRY(check_characters(line, number));
    const bool empty = trimmed(line).empty();
    const bool indented = !empty && blank(line.front());
    if (indented && out.empty()) {
      return fail(Error{Code::invalid, "an indented line belongs to the statement above it",
                        Place{number, 1}.text(), "here is none: start in the first column"});
    }
    if (indented) {
      Statement& owner = out.back();
      if (owner.block_line == 0) {
        owner.block_line = number;
        block_begin = begin;
      }
      owner.block_lines = number + 1 - owner.block_line;
      owner.block = text.substr(block_begin, begin + line.size() - block_begin);
    } else if (!empty && line.front() != '#') {
      out.push_back(statement_of(line, number));
    }
    begin = end + 1;
  }
  return out;
}

Result<std::vector<ScenarioWord>> items_of(const ScenarioWord& rest) {
  std::vector<ScenarioWord> out;
  Walk walk;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= rest.text.size(); ++at) {
    if (at == rest.text.size() || (rest.text[at] == ',' && walk.plain())) {
      const std::string_view item = trimmed(rest.text.substr(begin, at - begin));
      const auto offset = static_cast<std::size_t>(item.data() - rest.text.data());
      const ScenarioWord word{item, rest.place.after(rest.text.substr(0, offset))};
      if (item.empty()) return fail(wrong_at(word, "here a field is missing"));
      out.push_back(word);
      begin = at + 1;
    }
    if (at < rest.text.size()) walk.pass(rest.text, at);
  }
  return out;
}

std::vector<std::string> block_text(const Statement& statement) {
  std::vector<std::string> lines;
  std::size_t indent = std::string_view::npos;
  for (std::size_t begin = 0; begin < statement.block.size();) {
    const std::size_t end = std::min(statement.block.find('\n', begin), statement.block.size());
    std::string_view line = statement.block.substr(begin, end - begin);
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    if (!line.empty()) indent = std::min(indent, line.find_first_not_of(blanks));
    lines.emplace_back(line);
    begin = end + 1;
  }
  for (std::string& line : lines) line.erase(0, std::min(indent, line.size()));
  return lines;
}

}  // namespace tutti
