#include "format/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace tutti {
namespace {

constexpr std::size_t compared_length_max = 64;
constexpr std::size_t quoted_length_max = 60;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

struct Range {
  char32_t first;
  char32_t last;
};

// East Asian Wide and Fullwidth blocks and the emoji planes (Unicode TR 11), merged coarsely.
constexpr std::array wide_ranges = {
    Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x2E80, 0x303E},
    Range{0x3041, 0x33FF},   Range{0x3400, 0x4DBF},   Range{0x4E00, 0x9FFF},
    Range{0xA000, 0xA4CF},   Range{0xA960, 0xA97F},   Range{0xAC00, 0xD7A3},
    Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},
    Range{0xFFE0, 0xFFE6},   Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF},
    Range{0x1F900, 0x1FAFF}, Range{0x20000, 0x3FFFD},
};

constexpr std::array zero_ranges = {
    Range{0x0000, 0x001F}, Range{0x007F, 0x009F}, Range{0x0300, 0x036F}, Range{0x0483, 0x0489},
    Range{0x0591, 0x05BD}, Range{0x0610, 0x061A}, Range{0x064B, 0x065F}, Range{0x1AB0, 0x1AFF},
    Range{0x1DC0, 0x1DFF}, Range{0x200B, 0x200F}, Range{0x202A, 0x202E}, Range{0x2060, 0x2064},
    Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F}, Range{0xFEFF, 0xFEFF},
};

bool in_ranges(char32_t value, std::span<const Range> ranges) {
  return std::ranges::any_of(
      ranges, [value](const Range& r) { return value >= r.first && value <= r.last; });
}

std::size_t width_of(char32_t value) {
  if (value >= 0x20 && value < 0x7F) return 1;
  if (in_ranges(value, zero_ranges)) return 0;
  return in_ranges(value, wide_ranges) ? 2 : 1;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

bool starts_like_a_number(std::string_view cell) {
  if (cell.starts_with('-') || cell.starts_with('+') || cell.starts_with('~')) {
    cell.remove_prefix(1);
  }
  return !cell.empty() && cell.front() >= '0' && cell.front() <= '9';
}

void append_cell(std::string& line, std::string_view cell, std::size_t width, bool right) {
  const std::size_t pad = width - display_width(cell);
  if (right) line.append(pad, ' ');
  line += cell;
  if (!right) line.append(pad, ' ');
}

}  // namespace

CodePoint decode_utf8(std::string_view text, std::size_t at) {
  CHECK(at < text.size(), at, text.size());
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1};
  unsigned length = 0;
  char32_t least = 0;
  char32_t value = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2, least = 0x80, value = lead & 0x1FU;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3, least = 0x800, value = lead & 0x0FU;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4, least = 0x10000, value = lead & 0x07U;
  } else {
    return {};
  }
  if (text.size() - at < length) return {};
  for (unsigned i = 1; i < length; ++i) {
    if (!is_continuation(text[at + i])) return {};
    value = value << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < least || value > 0x10FFFF || surrogate) return {};
  return {value, length};
}

void append_utf8(std::string& out, char32_t value) {
  CHECK(value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF), value);
  const auto tail = [&](unsigned shift) {
    out += static_cast<char>(0x80U | ((value >> shift) & 0x3FU));
  };
  if (value < 0x80) {
    out += static_cast<char>(value);
  } else if (value < 0x800) {
    out += static_cast<char>(0xC0U | value >> 6U);
    tail(0);
  } else if (value < 0x10000) {
    out += static_cast<char>(0xE0U | value >> 12U);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0U | value >> 18U);
    tail(12), tail(6), tail(0);
  }
}

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t word = 0;
    while (text.size() - at >= sizeof word) {  // Nearly all input is ASCII: eight bytes at once.
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & 0x8080808080808080ULL) != 0) break;
      at += sizeof word;
    }
    if (at == text.size()) break;
    const CodePoint point = decode_utf8(text, at);
    if (point.length == 0) return at;
    at += point.length;
  }
  return std::nullopt;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    width += point.length == 0 ? 1 : width_of(point.value);
    at += std::max(point.length, 1U);
  }
  return width;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  std::size_t at = 0;
  while (at < text.size() && at < quoted_length_max) {
    const CodePoint point = decode_utf8(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool control = width_of(point.value) == 0 && point.length > 0;
    if (point.value == '"' || point.value == '\\') {
      out += fmt::format("\\{}", text[at]);
    } else if (point.length == 0) {
      out += fmt::format("\\x{:02x}", byte);
    } else if (control) {
      out += point.value < 0x100 ? fmt::format("\\x{:02x}", static_cast<unsigned>(point.value))
                                 : fmt::format("\\u{:04x}", static_cast<unsigned>(point.value));
    } else {
      out += text.substr(at, point.length);
    }
    at += std::max(point.length, 1U);
  }
  return out + (at < text.size() ? "...\"" : "\"");
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  if (a.size() > compared_length_max || b.size() > compared_length_max) {
    return a == b ? 0 : std::max(a.size(), b.size());
  }
  using Row = std::array<std::size_t, compared_length_max + 1>;
  Row before{};
  Row last{};
  Row now{};
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = last;
    last = now;
  }
  return last[b.size()];
}

/// Letters of a word that may be the start of a longer one.
constexpr std::size_t shortened_least = 3;

std::optional<std::string_view> closest(std::string_view name,
                                        std::span<const std::string_view> candidates) {
  const std::string wanted = lowered(name);
  const std::size_t most = std::max<std::size_t>(1, name.size() / 3);
  std::optional<std::string_view> best;
  std::pair<std::size_t, bool> best_rank{most + 1, false};
  for (const std::string_view candidate : candidates) {
    const std::string known = lowered(candidate);
    if (wanted == known) return candidate;
    const std::size_t distance = edit_distance(wanted, known);
    const bool other_start = wanted.substr(0, 1) != known.substr(0, 1);
    const std::pair rank{distance, other_start};
    if (rank < best_rank && distance < candidate.size()) {
      best = candidate;
      best_rank = rank;
    }
  }
  if (best || wanted.size() < shortened_least) return best;
  const auto begins = [&](std::string_view known) { return lowered(known).starts_with(wanted); };
  const auto first = std::ranges::find_if(candidates, begins);
  if (first == candidates.end() || std::ranges::count_if(candidates, begins) > 1) return best;
  return *first;
}

std::string join_names(std::span<const std::string_view> names, std::size_t most) {
  CHECK(most > 0);
  std::string out;
  const std::size_t shown = names.size() > most ? most - 1 : names.size();
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) out += ", ";
    out += names[i];
  }
  if (shown == names.size()) return out;
  return out + fmt::format("{}{} more", shown > 0 ? " and " : "", names.size() - shown);
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  if (const auto near = closest(name, candidates))
    return fmt::format("did you mean \"{}\"?", *near);
  return candidates.empty() ? std::string() : "known: " + join_names(candidates);
}

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {
  CHECK(!header_.empty());
}

void Table::add(std::vector<std::string> cells) {
  CHECK(cells.size() == header_.size(), cells.size(), header_.size());
  rows_.push_back(std::move(cells));
}

bool Table::numeric(std::size_t column) const {
  bool any = false;
  for (const auto& row : rows_) {
    const std::string& cell = row[column];
    if (cell.empty() || cell == "-") continue;
    if (!starts_like_a_number(cell)) return false;
    any = true;
  }
  return any;
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  std::vector<bool> right;
  for (std::size_t column = 0; column < header_.size(); ++column) {
    std::size_t width = display_width(header_[column]);
    for (const auto& row : rows_) width = std::max(width, display_width(row[column]));
    widths.push_back(width);
    right.push_back(numeric(column));
  }
  std::string out;
  const auto append_row = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      if (column > 0) line += "  ";
      append_cell(line, cells[column], widths[column], right[column]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  append_row(header_);
  for (const auto& row : rows_) append_row(row);
  return out;
}

}  // namespace tutti
