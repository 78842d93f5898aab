#include "net/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tutti::net::parser_test {

using testing::HasSubstr;

/// Feeds `bytes` in the pieces that end at `cuts`, keeping what is not used, as a connection does.
template <class Parser>
std::string feed(Parser& parser, std::string_view bytes, std::vector<std::size_t> cuts) {
  cuts.push_back(bytes.size());
  std::string kept;
  std::size_t at = 0;
  for (const std::size_t cut : cuts) {
    kept += bytes.substr(at, cut - at);
    at = cut;
    while (!kept.empty() && (parser.stage() == Stage::head || parser.stage() == Stage::body)) {
      const std::size_t used = parser.feed(kept);
      kept.erase(0, used);
      if (used == 0) break;
    }
  }
  return kept;
}

std::string shown(const Request& request) {
  std::string out = request.method + " " + request.target + " | " + request.path;
  for (const auto& [name, value] : request.query) out += " " + name + "=" + value;
  for (std::size_t at = 0; at < request.headers.size(); ++at) {
    out += " | " + std::string(request.headers[at].first) + ": ";
    out += request.headers[at].second;
  }
  return out + " | " + request.body;
}

/// What becomes of a request: itself, or "status message".
std::string read(std::string_view bytes, std::vector<std::size_t> cuts = {},
                 RequestParser::Limits limits = {}) {
  RequestParser parser(limits);
  const std::string rest = feed(parser, bytes, std::move(cuts));
  switch (parser.stage()) {
    case Stage::head:
      return "head";
    case Stage::body:
      return "body";
    case Stage::refused:
      return std::to_string(parser.refusal().status) + " " + parser.refusal().message;
    case Stage::done:
      return shown(parser.take()) + " | " + rest;
  }
  return "";
}

constexpr std::string_view chunked_request =
    "\r\nPOST /a%20b?x=1&y=%26 HTTP/1.1\r\nHost: h\r\nX-Empty:\r\nX-Spaces: \t a b \t\r\n"
    "Transfer-Encoding: Chunked\r\n\r\n"
    "4;name=\"v\"\r\nwiki\r\n5\r\npedia\r\n0\r\nTrailer: dropped\r\n\r\nGET /next";
constexpr std::string_view chunked_shown =
    "POST /a%20b?x=1&y=%26 | /a b x=1 y=& | Host: h | X-Empty:  | X-Spaces: a b"
    " | Transfer-Encoding: Chunked | wikipedia | GET /next";

TEST(RequestParserTest, ARequestIsTheSameInWhateverPiecesItComes) {
  EXPECT_EQ(read(chunked_request), chunked_shown);
  for (std::size_t cut = 1; cut < chunked_request.size(); ++cut) {
    EXPECT_EQ(read(chunked_request, {cut}), chunked_shown) << cut;
  }
  std::vector<std::size_t> every_byte;
  for (std::size_t cut = 1; cut < chunked_request.size(); ++cut) every_byte.push_back(cut);
  EXPECT_EQ(read(chunked_request, every_byte), chunked_shown);
}

TEST(RequestParserTest, AnUnfinishedRequestIsNeverTakenForAWholeOne) {
  const std::size_t whole = chunked_request.find("GET /next");
  for (std::size_t size = 0; size < whole; ++size) {
    const std::string got = read(chunked_request.substr(0, size));
    EXPECT_TRUE(got == "head" || got == "body") << size << ": " << got;
  }
}

TEST(RequestParserTest, ABodyOfKnownLengthEndsThere) {
  EXPECT_EQ(read("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET"),
            "PUT / | / | Host: h | Content-Length: 3 | abc | GET");
  EXPECT_EQ(read("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\nGET"),
            "PUT / | / | Host: h | Content-Length: 0 |  | GET");
  EXPECT_EQ(read("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nab"), "body");
}

TEST(RequestParserTest, TargetsOfAllKinds) {
  EXPECT_EQ(read("GET http://other:80/a?b HTTP/1.1\r\nHost: h\r\n\r\n"),
            "GET /a?b | /a b= | Host: h |  | ");
  EXPECT_EQ(read("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"), "OPTIONS * | * | Host: h |  | ");
  EXPECT_EQ(read("GET /? HTTP/1.0\r\n\r\n"), "GET /? | / |  | ");
  for (const std::string_view bad :
       {"GET * HTTP/1.1", "GET jobs HTTP/1.1", "CONNECT host:80 HTTP/1.1", "GET /%zz HTTP/1.1",
        "GET /a%0 HTTP/1.1", "GET /%00 HTTP/1.1", "GET /?a=%x HTTP/1.1", "GET unix:///x HTTP/1.1",
        "GET  / HTTP/1.1", "GET / HTTP", "GET / HTTP/1.", "GET", "GET /a b HTTP/1.1", "GET /",
        "GET / HTTP/1.1 ", "G(T / HTTP/1.1", "/ HTTP/1.1", " GET / HTTP/1.1"}) {
    EXPECT_THAT(read(std::string(bad) + "\r\nHost: h\r\n\r\n"),
                testing::AnyOf(testing::StartsWith("400 "), testing::StartsWith("505 ")))
        << bad;
  }
}

// What two readers could read in two ways, so that one of them sees a request which the other does
// not.
TEST(RequestParserTest, WhatCouldSmuggleARequestIsRefused) {
  const std::string start = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (const std::string_view headers : {
           "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
           "Content-Length: 3\r\nContent-Length: 4\r\n",
           "Content-Length: 3\r\nContent-Length: 3\r\n",
           "Content-Length: 3, 3\r\n",
           "Content-Length: 3,\r\n",
           "Content-Length: +3\r\n",
           "Content-Length: -3\r\n",
           "Content-Length: 0x3\r\n",
           "Content-Length: 3 3\r\n",
           "Content-Length: \r\n",
           "Content-Length: 99999999999999999999\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
           "Content-Length : 3\r\n",
           "Content-Length\t: 3\r\n",
           " Content-Length: 3\r\n",
           "X: a\r\n b\r\n",
           "X: a\r\n\tContent-Length: 3\r\n",
           "X:\r\n b\r\n",
           "X: a\nContent-Length: 3\r\n",
           "X: a\rb\r\n",
           "X: a\r\r\n",
           "X\r\n",
           ": a\r\n",
           "X(: a\r\n",
           "X\x80: a\r\n",
           "X: a\x01\r\n",
           "X: a\x7F\r\n",
           "Host: other\r\n",
           "Connection: \"close\r\n",
       }) {
    EXPECT_THAT(read(start + std::string(headers) + "\r\nabc"), testing::StartsWith("400 "))
        << headers;
  }
  using namespace std::string_literals;
  EXPECT_THAT(read(start + "X: a\0b\r\n\r\n"s), testing::StartsWith("400 "));
  EXPECT_THAT(read("GET / HTTP/1.1\r\nHo\0st: h\r\n\r\n"s), testing::StartsWith("400 "));
  EXPECT_THAT(read("GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n"s), testing::StartsWith("400 "));
  EXPECT_THAT(read("GET / HTTP/1.1\r\n\r\n"), HasSubstr("one header Host"));
  EXPECT_THAT(read("GET / HTTP/1.1\nHost: h\n\n"), HasSubstr("LF without CR"));
  EXPECT_THAT(read("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), HasSubstr("HTTP/1.1"));
  EXPECT_THAT(read(start + "Transfer-Encoding: gzip, chunked\r\n\r\n"), HasSubstr("501 "));
  EXPECT_THAT(read(start + "Transfer-Encoding: chunked, gzip\r\n\r\n"), HasSubstr("501 "));
}

TEST(RequestParserTest, OddChunksAreRefused) {
  const std::string start = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string_view body : {
           "x\r\n",
           "-1\r\n",
           "0x3\r\nabc\r\n",
           " 3\r\nabc\r\n",
           "3\nabc\r\n0\r\n\r\n",
           "3\r\nabcd\r\n0\r\n\r\n",
           "3\r\nabc0\r\n\r\n",
           "3 x\r\nabc\r\n",
           "3;a=\"\n\"\r\nabc\r\n0\r\n\r\n",
           "3;\r\nabc\r\n",
           "3;a=\"\r\nabc\r\n",
           "0;a=\"\r\n\"\r\n\r\n",
           "10000000000000000\r\n",
           "0\r\nX : a\r\n\r\n",
           "0\r\nContent-Length: 3\r\n\r\n",
           ";\r\n",
           "\r\n\r\n",
       }) {
    EXPECT_THAT(read(start + std::string(body) + std::string(64, 'z') + "\r\n\r\n"),
                testing::AnyOf(testing::StartsWith("400 "), testing::StartsWith("413 ")))
        << body;
  }
  EXPECT_THAT(read(start + "3;" + std::string(200, 'a'), {}, {.header_bytes = 100}),
              HasSubstr("chunk"));
  EXPECT_THAT(read(start + "0\r\nX: " + std::string(200, 'a'), {}, {.header_bytes = 100}),
              HasSubstr("chunk"));
}

TEST(RequestParserTest, LimitsHoldToTheByte) {
  const std::string head = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_THAT(read(head, {}, {.header_bytes = head.size()}), testing::StartsWith("GET /"));
  EXPECT_THAT(read(head, {}, {.header_bytes = head.size() - 1}), testing::StartsWith("431 "));
  // It need not come whole to be too large.
  EXPECT_THAT(read(head.substr(0, 20), {}, {.header_bytes = 20}), testing::StartsWith("431 "));
  EXPECT_THAT(read("GET /" + std::string(100, 'a'), {}, {.header_bytes = 64}),
              testing::StartsWith("414 "));
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  const auto body = [&](const std::string& rest) {
    return read(post + rest, {}, {.body_bytes = 5});
  };
  EXPECT_THAT(body("Content-Length: 5\r\n\r\n12345"), testing::StartsWith("POST"));
  EXPECT_THAT(body("Content-Length: 6\r\n\r\n"), testing::StartsWith("413 "));
  EXPECT_THAT(body("Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n"),
              testing::StartsWith("POST"));
  EXPECT_THAT(body("Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n4\r\n"),
              testing::StartsWith("413 "));
}

TEST(RequestParserTest, VersionsAndExpectations) {
  EXPECT_THAT(read("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), testing::StartsWith("505 "));
  EXPECT_THAT(read("GET / HTTP/1.2\r\nHost: h\r\n\r\n"), testing::StartsWith("505 "));
  const auto parsed = [](std::string_view text) {
    RequestParser parser({});
    feed(parser, text, {});
    return parser;
  };
  EXPECT_TRUE(parsed("GET / HTTP/1.1\r\nHost: h\r\n\r\n").keep_alive());
  EXPECT_FALSE(parsed("GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n").keep_alive());
  EXPECT_FALSE(parsed("GET / HTTP/1.0\r\n\r\n").keep_alive());
  EXPECT_TRUE(parsed("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive());
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n";
  EXPECT_TRUE(parsed(post + "Expect: 100-Continue\r\n\r\n").awaits_continue());
  EXPECT_FALSE(parsed(post + "\r\n").awaits_continue());
  EXPECT_EQ(parsed(post + "Expect: more\r\n\r\n").refusal().status, 417);
}

std::string read_response(std::string_view bytes, std::vector<std::size_t> cuts = {},
                          bool to_head = false, bool ended = false) {
  std::string body;
  ResponseParser parser(to_head, 1'000, [&](std::string_view piece) { body += piece; });
  const std::string rest = feed(parser, bytes, std::move(cuts));
  if (ended && (parser.stage() == Stage::head || parser.stage() == Stage::body)) parser.end();
  if (parser.stage() == Stage::refused) return parser.error();
  if (parser.stage() != Stage::done) return "unfinished";
  return std::to_string(parser.head().status) + " " + body + " | " + rest +
         (parser.keep_alive() ? "" : " | close");
}

TEST(ResponseParserTest, AResponseIsTheSameInWhateverPiecesItComes) {
  const std::string text =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
      "HTTP/1.1 201 Made it\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nrest";
  EXPECT_EQ(read_response(text), "201 abcde | rest");
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    EXPECT_EQ(read_response(text, {cut}), "201 abcde | rest") << cut;
  }
}

TEST(ResponseParserTest, WaysToEnd) {
  EXPECT_EQ(read_response("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc"), "200 ab | c");
  EXPECT_EQ(read_response("HTTP/1.1 204 No\r\n\r\n"), "204  | ");
  EXPECT_EQ(read_response("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", {}, /*to_head=*/true),
            "200  | ");
  EXPECT_EQ(read_response("HTTP/1.1 101 Go\r\nUpgrade: x\r\n\r\nxyz"), "101  | xyz");
  EXPECT_EQ(read_response("HTTP/1.0 200 OK\r\n\r\nabc", {}, false, /*ended=*/true),
            "200 abc |  | close");
  EXPECT_EQ(read_response("HTTP/1.1 200 OK\r\n\r\nabc"), "unfinished");
  for (const std::string_view cut_short :
       {"", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab"}) {
    EXPECT_THAT(read_response(cut_short, {}, false, /*ended=*/true), HasSubstr("in the middle"));
  }
  for (const std::string_view garbage :
       {"hello, world\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX y\r\n\r\n"}) {
    EXPECT_THAT(read_response(garbage), HasSubstr("no HTTP")) << garbage;
  }
}

}  // namespace tutti::net::parser_test
