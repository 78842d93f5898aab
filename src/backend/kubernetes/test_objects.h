/// For the tests of backend/kubernetes/: what an API server writes, and how it reads a request.
#pragma once

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/kubernetes/wire.h"
#include "net/url.h"

namespace tutti::test {

inline net::Response status_of(int code, const std::string& reason) {
  return {.status = code,
          .body = fmt::format(R"({{"kind":"Status","code":{},"reason":"{}","message":"{}"}})", code,
                              reason, reason)};
}

inline std::string object_of(const std::string& name, const std::string& uid,
                             std::uint64_t version) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"ml","uid":"{}","resourceVersion":"{}"}}}})", name,
      uid, version);
}

/// One line of a watch.
inline std::string line_of(const char* type, const std::string& object) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

inline std::string bookmark_of(std::uint64_t version, bool ends_initial = false) {
  const char* const annotations =
      ends_initial ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "";
  return line_of("BOOKMARK", fmt::format(R"({{"metadata":{{"resourceVersion":"{}"{}}}}})", version,
                                         annotations));
}

/// A parameter of the query; empty where it is absent.
inline std::string parameter(const WireRequest& request, std::string_view name) {
  const std::size_t query = request.target.find('?');
  if (query == std::string::npos) return "";
  const auto all = net::parse_query(std::string_view(request.target).substr(query + 1)).value();
  for (const auto& [key, value] : all) {
    if (key == name) return value;
  }
  return "";
}

inline std::uint64_t number_of(std::string_view text) {
  std::uint64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

}  // namespace tutti::test
