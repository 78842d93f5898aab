/// Where a server is, and what is asked of it there: http, https and unix sockets.
///
///   http://host[:port][/path][?query]       https://...
///   unix:///run/tutti.sock                  the socket; the path asked for is "/"
///   http+unix://%2Frun%2Ftutti.sock/jobs    the socket, percent-encoded, and a path
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tutti::net {

struct Url {
  enum class Scheme : std::uint8_t { http, https, unix_socket };

  Scheme scheme = Scheme::http;
  std::string host;          ///< A name, an IPv4 address, or an IPv6 address without brackets.
  std::uint16_t port = 80;   ///< 443 for https where none is written.
  std::string socket;        ///< The file, for unix sockets.
  std::string target = "/";  ///< Path and query, still encoded: "/jobs?limit=5".

  /// What is wrong with a bad one stands in the error, with what a good one looks like.
  static Result<Url> parse(std::string_view text);
  /// The same server, another target, which starts with '/'.
  Url with_target(std::string target) const;

  /// "https://host:8443" or "unix:///run/tutti.sock": the server alone.
  std::string server() const;
  /// server() and the target; also for people.
  std::string text() const;
  /// What the header Host says: "host:8443", "[::1]"; "localhost" for unix sockets.
  std::string host_header() const;

  friend bool operator==(const Url&, const Url&) = default;
};

/// Undoes percent-encoding. An error where a '%' is not followed by two hexadecimal digits, or NUL
/// comes out.
Result<std::string> percent_decode(std::string_view text);
/// Encodes all but letters, digits and "-._~".
std::string percent_encode(std::string_view text);

/// "/queues/research%2Fvision/jobs" as {"queues", "research/vision", "jobs"}: each part decoded on
/// its own, so that an encoded slash separates nothing. A query behind it is left out.
Result<std::vector<std::string>> path_segments(std::string_view target);

/// "a=1&b=x+y&flag" as pairs in order, decoded; '+' is a space, what has no '=' has an empty value.
Result<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view text);

}  // namespace tutti::net
