#include "net/url.h"

#include <algorithm>
#include <charconv>

#include "net/message.h"

namespace tutti::net {
namespace {

constexpr std::string_view good_ones =
    "a server is written as http://host:port, https://host:port or unix:///path/of/its/socket";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::unexpected<Error> bad(std::string_view url, std::string what) {
  return fail({.code = Code::invalid,
               .what = std::move(what),
               .where = std::string(url),
               .hint = std::string(good_ones)});
}

/// Printable ASCII without spaces: what may stand in a request line.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; });
}

bool is_host(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == ':';
  });
}

Result<std::uint16_t> parse_port(std::string_view url, std::string_view text) {
  unsigned port = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || rest != text.data() + text.size() || port == 0 || port > 65'535) {
    return bad(url, "\"" + std::string(text) + "\" is no port; ports are 1 to 65535");
  }
  return static_cast<std::uint16_t>(port);
}

/// "host", "host:port", "[v6]" or "[v6]:port".
Result<void> parse_authority(std::string_view url, std::string_view text, Url& out) {
  if (text.find('@') != std::string_view::npos) {
    return bad(url, "names and passwords do not belong into a URL");
  }
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return bad(url, "the \"[\" is never closed");
    out.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    has_port = !port.empty();
    if (has_port && port.front() != ':') return bad(url, "after \"]\" only \":port\" may follow");
    if (out.host.find(':') == std::string::npos) {
      return bad(url, "only IPv6 addresses stand in brackets");
    }
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    out.host = text.substr(0, colon);
    port = text.substr(colon);
    has_port = !port.empty();
  }
  if (out.host.empty()) return bad(url, "the host is missing");
  if (!is_host(out.host)) return bad(url, "\"" + out.host + "\" is no name of a host");
  if (has_port) out.port = TRY(parse_port(url, port.substr(1)));
  return {};
}

Result<Url> parse_unix(std::string_view url, std::string_view path) {
  if (!path.starts_with('/')) {
    return bad(url,
               "the path of a unix socket starts with \"/\", so three slashes follow \"unix:\"");
  }
  Url out{.scheme = Url::Scheme::unix_socket, .port = 0};
  out.socket = path;
  return out;
}

Result<Url> parse_http_unix(std::string_view url, std::string_view rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  auto socket = percent_decode(rest.substr(0, slash));
  if (!socket) return bad(url, socket.error().what);
  if (!socket->starts_with('/')) {
    return bad(url,
               "an http+unix URL starts with its socket, percent-encoded: "
               "http+unix://%2Frun%2Ftutti.sock/jobs");
  }
  Url out{.scheme = Url::Scheme::unix_socket, .port = 0};
  out.socket = *std::move(socket);
  if (slash < rest.size()) out.target = rest.substr(slash);
  return out;
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (text.empty()) return bad(text, "the URL is empty");
  if (!is_plain(text)) return bad(text, "a URL has no spaces and no control or other characters");
  if (colon == std::string_view::npos) return bad(text, "it does not say how to connect");
  const std::string_view scheme = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  if (equal_ignoring_case(scheme, "unix")) return parse_unix(text, rest);
  if (equal_ignoring_case(scheme, "http+unix")) return parse_http_unix(text, rest);
  Url out;
  if (equal_ignoring_case(scheme, "https")) {
    out.scheme = Scheme::https;
    out.port = 443;
  } else if (!equal_ignoring_case(scheme, "http")) {
    return bad(text, "\"" + std::string(scheme) + "\" is no way to connect");
  }
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  TRY(parse_authority(text, rest.substr(0, end), out));
  const std::string_view target = rest.substr(end);
  if (!target.empty()) out.target = (target.front() == '?' ? "/" : "") + std::string(target);
  return out;
}

Url Url::with_target(std::string new_target) const {
  Url out = *this;
  out.target = std::move(new_target);
  return out;
}

std::string Url::server() const {
  if (scheme == Scheme::unix_socket) return "unix://" + socket;
  return (scheme == Scheme::https ? "https://" : "http://") + host_header();
}

std::string Url::text() const {
  if (scheme != Scheme::unix_socket) return server() + (target == "/" ? "" : target);
  const bool plain = is_plain(socket) && socket.find('#') == std::string::npos;
  return target == "/" && plain ? server() : "http+unix://" + percent_encode(socket) + target;
}

std::string Url::host_header() const {
  if (scheme == Scheme::unix_socket) return "localhost";
  std::string out = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != (scheme == Scheme::https ? 443 : 80)) out += ":" + std::to_string(port);
  return out;
}

Result<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    const int high = at + 2 < text.size() ? hex_digit(text[at + 1]) : -1;
    const int low = at + 2 < text.size() ? hex_digit(text[at + 2]) : -1;
    if (high < 0 || low < 0) {
      return fail(Code::invalid,
                  "\"" + std::string(text.substr(at, 3)) + "\" is no percent-encoded character");
    }
    const int byte = high * 16 + low;
    if (byte == 0) return fail(Code::invalid, "%00 may not stand in a URL");
    out += static_cast<char>(byte);
    at += 2;
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
        c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      out += {'%', digits[byte / 16], digits[byte % 16]};
    }
  }
  return out;
}

Result<std::vector<std::string>> path_segments(std::string_view target) {
  std::string_view path = target.substr(0, target.find('?'));
  std::vector<std::string> out;
  while (!path.empty()) {
    path.remove_prefix(1);  // The slash.
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0 || end < path.size() || !out.empty()) {
      out.push_back(TRY(percent_decode(path.substr(0, end))));
    }
    path.remove_prefix(end);
  }
  return out;
}

Result<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto decode = [](std::string_view part) {
    std::string spaced(part);
    std::ranges::replace(spaced, '+', ' ');
    return percent_decode(spaced);
  };
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (!pair.empty()) {
      std::string name = TRY(decode(pair.substr(0, equals)));
      out.emplace_back(std::move(name),
                       TRY(decode(pair.substr(std::min(equals + 1, pair.size())))));
    }
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
  }
  return out;
}

}  // namespace tutti::net
