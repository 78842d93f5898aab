/// Any bytes: a request or a response is read the same whether it comes whole or byte by byte, what
/// follows it is left alone, and bodies stay below their limit. Also URLs, which read back equal.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "net/parser.h"
#include "net/url.h"

namespace {

using namespace tutti::net;

constexpr RequestParser::Limits limits{.header_bytes = 400, .body_bytes = 300};

/// Feeds pieces of `size` bytes, keeping what is not used; returns how much was never used.
template <class Parser>
std::size_t feed(Parser& parser, std::string_view bytes, std::size_t size) {
  std::string kept;
  while (true) {
    while (!kept.empty() && (parser.stage() == Stage::head || parser.stage() == Stage::body)) {
      const std::size_t used = parser.feed(kept);
      CHECK(used <= kept.size());
      kept.erase(0, used);
      if (used == 0) break;
    }
    const bool over = parser.stage() == Stage::done || parser.stage() == Stage::refused;
    if (over || bytes.empty()) return kept.size() + bytes.size();
    kept += bytes.substr(0, size);
    bytes.remove_prefix(std::min(size, bytes.size()));
  }
}

std::string read_request(std::string_view bytes, std::size_t size) {
  RequestParser parser(limits);
  const std::size_t rest = feed(parser, bytes, size);
  switch (parser.stage()) {
    case Stage::head:
      return "head";
    case Stage::body:
      return "body";
    case Stage::refused:
      return std::to_string(parser.refusal().status);
    case Stage::done:
      break;
  }
  std::string out = parser.keep_alive() ? "keep " : "close ";
  const Request request = parser.take();
  CHECK(request.body.size() <= limits.body_bytes, request.body.size());
  out += request.method + " " + request.target + " " + request.path;
  for (const auto& [name, value] : request.query) out += " " + name + "=" + value;
  for (std::size_t at = 0; at < request.headers.size(); ++at) {
    out += std::string(request.headers[at].first) + ":" + std::string(request.headers[at].second);
  }
  return out + request.body + " " + std::to_string(rest);
}

std::string read_response(std::string_view bytes, std::size_t size) {
  std::string body;
  ResponseParser parser(/*to_head=*/false, limits.header_bytes,
                        [&](std::string_view piece) { body += piece; });
  feed(parser, bytes, size);
  if (parser.stage() == Stage::refused) return "refused";
  if (parser.stage() == Stage::head || parser.stage() == Stage::body) parser.end();
  if (parser.stage() == Stage::refused) return "refused";
  return std::to_string(parser.head().status) + " " + body;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const std::string whole = read_request(text, text.size() + 1);
  const std::string split = read_request(text, 1);
  const bool same_response = read_response(text, text.size() + 1) == read_response(text, 1);
  // Beyond the limit, what came whole may pass although its beginning alone would be refused.
  if (text.size() <= limits.header_bytes) {
    // The parser waits for five bytes behind a chunk before it looks at them.
    CHECK(whole == split || (whole == "400" && split == "body"), whole, split);
    CHECK(same_response);
  }
  if (const auto url = Url::parse(text)) {
    const auto again = Url::parse(url->text());
    CHECK(again.has_value() && *again == *url, text);
  }
  return 0;
}
