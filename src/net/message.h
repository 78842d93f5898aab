/// What HTTP carries: headers, requests as a server gets them, and responses.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::net {

/// Names and values in the order given; names are compared without regard to case. O(n) look-up in
/// one block of memory.
class Headers {
 public:
  using Field = std::pair<std::string_view, std::string_view>;

  Headers() = default;
  Headers(std::initializer_list<Field> fields);

  /// REQUIRES: a token, and a value without CR, LF or NUL (CHECKed: they would be other headers).
  Headers& add(std::string_view name, std::string_view value);
  /// The first of that name.
  std::optional<std::string_view> find(std::string_view name) const;
  /// How many fields have that name.
  std::size_t count(std::string_view name) const;
  /// Does a comma-separated list of that name hold `word`, without regard to case?
  bool lists(std::string_view name, std::string_view word) const;

  std::size_t size() const { return places_.size(); }
  Field operator[](std::size_t index) const;

 private:
  struct Place {
    std::uint32_t at;
    std::uint32_t name_size;
    std::uint32_t value_size;
  };

  std::string text_;
  std::vector<Place> places_;
};

/// Who is at the other end. Fixed for a connection.
struct Peer {
  std::string address;  ///< "192.0.2.7" or "uid 1000": what limits count by.
  bool local = false;   ///< Over a unix socket; the kernel vouches for the next three.
  uid_t uid = 0;
  gid_t gid = 0;
  pid_t pid = 0;
  std::string certificate;  ///< Subject of the client's verified certificate, or empty.
};

struct Request {
  std::string method;  ///< "GET", or any other token: nothing is refused here.
  std::string target;  ///< As sent, without scheme and host: "/jobs?limit=5".
  std::string path;    ///< Decoded, without the query: "/jobs". See also path_segments (url.h).
  std::vector<std::pair<std::string, std::string>> query;  ///< Decoded, in order.
  Headers headers;
  std::string body;
  std::shared_ptr<const Peer> peer;

  /// The first value of that name in the query.
  std::optional<std::string_view> query_value(std::string_view name) const;
};

struct Response {
  int status = 200;
  Headers headers;  ///< Content-Length, Connection and Date are not among them: net/ writes them.
  std::string body;
};

/// {"error":{"code":"not_found","message":"..."}}, the body of every refusal.
std::string error_body(std::string_view code, std::string_view message);
Response error_response(int status, std::string_view code, std::string_view message);

/// "Not Found", or "Unknown".
std::string_view reason_phrase(int status);

/// ASCII letters only, as HTTP's names are.
bool equal_ignoring_case(std::string_view a, std::string_view b);

}  // namespace tutti::net
