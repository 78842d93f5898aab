#include "net/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/message.h"

namespace tutti::net::url_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(UrlTest, GoodOnesAreReadAndWrittenBack) {
  struct Case {
    std::string_view text;
    std::string_view host;
    int port;
    std::string_view target;
    std::string_view again;
  };
  for (const Case& one : {
           Case{"http://host", "host", 80, "/", "http://host"},
           Case{"http://host:80/", "host", 80, "/", "http://host"},
           Case{"HTTP://127.0.0.1:7070/jobs?limit=5#top", "127.0.0.1", 7070, "/jobs?limit=5",
                "http://127.0.0.1:7070/jobs?limit=5"},
           Case{"https://a.b-c.example", "a.b-c.example", 443, "/", "https://a.b-c.example"},
           Case{"https://host:80?x", "host", 80, "/?x", "https://host:80/?x"},
           Case{"http://[::1]:8080/a", "::1", 8080, "/a", "http://[::1]:8080/a"},
           Case{"http://[fe80::1]", "fe80::1", 80, "/", "http://[fe80::1]"},
       }) {
    const auto url = Url::parse(one.text);
    ASSERT_TRUE(url.has_value()) << url.error().text();
    EXPECT_EQ(url->host, one.host);
    EXPECT_EQ(url->port, one.port);
    EXPECT_EQ(url->target, one.target);
    EXPECT_EQ(url->text(), one.again);
    EXPECT_EQ(Url::parse(url->text()), *url);
  }
}

TEST(UrlTest, UnixSocketsAreWrittenInTwoWays) {
  const auto plain = Url::parse("unix:///run/tutti.sock");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->socket, "/run/tutti.sock");
  EXPECT_EQ(plain->target, "/");
  EXPECT_EQ(plain->text(), "unix:///run/tutti.sock");
  EXPECT_EQ(plain->host_header(), "localhost");
  const auto encoded = Url::parse("http+unix://%2Frun%2Fa%20b/jobs?x=1");
  ASSERT_TRUE(encoded.has_value());
  EXPECT_EQ(encoded->socket, "/run/a b");
  EXPECT_EQ(encoded->target, "/jobs?x=1");
  EXPECT_EQ(encoded->text(), "http+unix://%2Frun%2Fa%20b/jobs?x=1");
  EXPECT_EQ(plain->with_target("/jobs").text(), "http+unix://%2Frun%2Ftutti.sock/jobs");
  EXPECT_EQ(encoded->with_target("/").text(), "http+unix://%2Frun%2Fa%20b/");
}

TEST(UrlTest, BadOnesSayWhatIsWrong) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "empty"},
      {"localhost:7070", "how to connect"},
      {"ftp://host", "\"ftp\" is no way to connect"},
      {"http://", "host is missing"},
      {"http://:80", "host is missing"},
      {"http://host:", "\"\" is no port"},
      {"http://host:0", "\"0\" is no port"},
      {"http://host:65536", "65535"},
      {"http://host:80x", "\"80x\" is no port"},
      {"http://a b/", "spaces"},
      {"http://host/\x01", "control"},
      {"http://host/\xC3\xBC", "other characters"},
      {"http://me:secret@host/", "passwords"},
      {"http://[::1", "never closed"},
      {"http://[host]", "only IPv6"},
      {"http://[::1]80", "only \":port\""},
      {"http://ho$t/", "\"ho$t\" is no name"},
      {"unix://run/tutti.sock", "three slashes"},
      {"http+unix://run/tutti.sock", "percent-encoded"},
      {"http+unix://%2/x", "percent-encoded"},
  };
  for (const auto& [text, why] : cases) {
    const auto url = Url::parse(text);
    ASSERT_FALSE(url.has_value()) << text;
    EXPECT_THAT(url.error().what, HasSubstr(why)) << text;
    EXPECT_EQ(url.error().where, text);
    EXPECT_THAT(url.error().hint, HasSubstr("http://host:port"));
  }
}

TEST(UrlTest, PercentEncodingIsUndone) {
  EXPECT_EQ(percent_decode("a%20b%2Fc%c3%bc"), "a b/c\xC3\xBC");
  EXPECT_EQ(percent_decode(""), "");
  for (const std::string_view bad : {"%", "%2", "a%2", "%g0", "%0g", "%%20", "%00", "%-1"}) {
    EXPECT_FALSE(percent_decode(bad).has_value()) << bad;
  }
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(percent_decode(percent_encode(all)), all);
  EXPECT_EQ(percent_encode("a-b._~9/ü"), "a-b._~9%2F%C3%BC");
}

TEST(UrlTest, AnEncodedSlashSeparatesNoSegments) {
  EXPECT_THAT(*path_segments("/queues/research%2Fvision/jobs?x=/y"),
              ElementsAre("queues", "research/vision", "jobs"));
  EXPECT_THAT(*path_segments("/"), IsEmpty());
  EXPECT_THAT(*path_segments("/a/"), ElementsAre("a", ""));
  EXPECT_THAT(*path_segments("//a"), ElementsAre("", "a"));
  EXPECT_THAT(*path_segments("/..%2f"), ElementsAre("../"));
  EXPECT_FALSE(path_segments("/a/%zz").has_value());
}

TEST(UrlTest, AQueryKeepsItsOrder) {
  EXPECT_THAT(*parse_query("b=1&a=x+y&b=%26&flag&=v&&c=="),
              ElementsAre(Pair("b", "1"), Pair("a", "x y"), Pair("b", "&"), Pair("flag", ""),
                          Pair("", "v"), Pair("c", "=")));
  EXPECT_THAT(*parse_query(""), IsEmpty());
  EXPECT_FALSE(parse_query("a=%").has_value());
  EXPECT_FALSE(parse_query("%x=a").has_value());
}

TEST(HeadersTest, NamesAreFoundWhateverTheirCase) {
  Headers headers{{"Content-Type", "text/plain"}, {"X-A", ""}};
  headers.add("x-a", "2").add("Accept", "a, B ,c").add("accept", "d");
  EXPECT_EQ(headers.find("content-type"), "text/plain");
  EXPECT_EQ(headers.find("X-a"), "");
  EXPECT_EQ(headers.find("X"), std::nullopt);
  EXPECT_EQ(headers.count("X-A"), 2);
  EXPECT_EQ(headers.size(), 5);
  EXPECT_EQ(headers[2], Headers::Field("x-a", "2"));
  for (const std::string_view word : {"a", "b", "C", "d"})
    EXPECT_TRUE(headers.lists("Accept", word));
  for (const std::string_view word : {"", "a, B", "e"}) EXPECT_FALSE(headers.lists("Accept", word));
}

TEST(HeadersDeathTest, WhatWouldBeAnotherHeaderIsABug) {
  Headers headers;
  EXPECT_DEATH(headers.add("X", "a\r\nY: b"), "CHECK");
  EXPECT_DEATH(headers.add("X Y", "a"), "CHECK");
  EXPECT_DEATH(headers.add("", "a"), "CHECK");
}

TEST(MessageTest, AnErrorIsJson) {
  const Response response = error_response(404, "not_found", "no job \"x\"");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body, R"({"error":{"code":"not_found","message":"no job \"x\""}})");
  EXPECT_EQ(response.headers.find("content-type"), "application/json");
  EXPECT_EQ(reason_phrase(404), "Not Found");
  EXPECT_EQ(reason_phrase(799), "Unknown");
}

}  // namespace tutti::net::url_test
