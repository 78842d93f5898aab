/// Any bytes: the reader gives the same rows whether it has them whole or byte by byte, and rows
/// written with every field in quotes are read back equal.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "format/csv.h"

namespace {

using tutti::CsvReader;
using Rows = std::vector<std::vector<std::string>>;

std::string drain(tutti::Result<CsvReader> open, Rows& rows) {
  if (!open) return open.error().text();
  CsvReader csv = *std::move(open);
  rows.emplace_back(csv.header().begin(), csv.header().end());
  while (true) {
    const auto more = csv.next();
    if (!more) return more.error().text();
    if (!*more) return {};
    rows.emplace_back(csv.fields().begin(), csv.fields().end());
    CHECK(rows.back().size() == rows.front().size());
    for (std::size_t i = 0; i < csv.fields().size(); ++i) {
      CHECK(csv.place(i).line > 0);
      const auto number = csv.integer(i);
      CHECK(number.has_value() || !number.error().what.empty());
    }
  }
}

std::string quoted(const Rows& rows) {
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += i == 0 ? "\"" : ",\"";
      for (const char c : row[i]) out += c == '"' ? std::string("\"\"") : std::string(1, c);
      out += '"';
    }
    out += "\r\n";
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  Rows whole;
  Rows pieces;
  const std::string error = drain(CsvReader::open(text), whole);
  const std::string same = drain(CsvReader::open(tutti::source_of(text, 1)), pieces);
  CHECK(error == same, error, same);
  CHECK(whole == pieces);
  if (!error.empty()) return 0;
  Rows back;
  const std::string again = quoted(whole);
  const std::string none = drain(CsvReader::open(again), back);
  CHECK(none.empty(), none, again);
  CHECK(back == whole, again);
  return 0;
}
