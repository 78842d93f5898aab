#include "api/router.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "api/json_text.h"
#include "base/check.h"
#include "base/hash.h"
#include "net/url.h"

namespace tutti {
namespace {

constexpr std::string_view any = "{}";

/// Takes ":cancel" off the end of "7:cancel".
std::string take_verb(std::string& segment) {
  const std::size_t colon = segment.rfind(':');
  if (colon == segment.npos) return {};
  std::string verb = segment.substr(colon + 1);
  segment.resize(colon);
  return verb;
}

std::optional<std::vector<std::string>> match(std::span<const std::string> pattern,
                                              std::span<const std::string> path) {
  if (pattern.size() != path.size()) return std::nullopt;
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (pattern[at] == any) {
      parts.push_back(path[at]);
    } else if (pattern[at] != path[at]) {
      return std::nullopt;
    }
  }
  return parts;
}

void note(const Call& call, int status) {
  if (call.answered != nullptr) (*call.answered)(call, status);
}

}  // namespace

void JobRanges::add(JobId id) {
  const std::uint64_t number = id.value();
  if (ranges_.empty() || ranges_.back().second + 1 != number) {
    ranges_.emplace_back(number, number);
  } else {
    ranges_.back().second = number;
  }
}

std::string JobRanges::text() const {
  constexpr std::size_t shown_most = 100;
  std::string out;
  for (std::size_t at = 0; at < std::min(ranges_.size(), shown_most); ++at) {
    const auto [first, last] = ranges_[at];
    out += fmt::format("{}{}", at > 0 ? "," : "", first);
    if (last > first) out += fmt::format("-{}", last);
  }
  if (ranges_.size() > shown_most) out += fmt::format(",{} more", ranges_.size() - shown_most);
  return out;
}

std::string etag_of(std::string_view content) {
  return fmt::format("\"{:016x}\"", Hash().add(content).value());
}

void Call::send(int status, std::string json) {
  net::Response response{
      .status = status, .headers = {{"Content-Type", "application/json"}}, .body = std::move(json)};
  if (status == 200 && (request.method == "GET" || request.method == "HEAD")) {
    const std::string etag = etag_of(response.body);
    response.headers.add("ETag", etag).add("Cache-Control", "no-cache");
    const auto has = [&](std::string_view word) {
      return request.headers.lists("If-None-Match", word);
    };
    if (has(etag) || has("W/" + etag) || has("*")) {
      response.status = 304;
      response.body.clear();
    }
  }
  send(std::move(response));
}

void Call::send(net::Response response) {
  note(*this, response.status);
  answer.send(std::move(response));
}

net::OpenStream Call::stream(net::Response head) {
  note(*this, head.status);
  return answer.stream(std::move(head));
}

net::Duplex Call::upgrade(std::string_view protocol) {
  net::Duplex duplex = answer.upgrade(protocol);
  note(*this, duplex.open() ? 101 : 426);
  return duplex;
}

void Call::refuse(const Error& error) { send(http_status(error.code), error_json(error)); }

void Router::add(std::string method, std::string_view pattern, Role least, Handle handle) {
  auto segments = net::path_segments(pattern);
  CHECK(segments.has_value(), pattern);
  Route route{.method = std::move(method),
              .path = std::string(pattern),
              .pattern = *std::move(segments),
              .verb = {},
              .least = least,
              .handle = std::move(handle)};
  route.verb = take_verb(route.pattern.back());
  routes_.push_back(std::move(route));
}

std::vector<std::string> Router::names() const {
  std::vector<std::string> out;
  for (const Route& route : routes_) out.push_back(route.method + " " + route.path);
  return out;
}

void Router::pass_on(const Route& route, Call call) {
  if (call.user.role >= route.least) return route.handle(std::move(call));
  call.refuse(
      {Code::denied,
       fmt::format("{} has the role {}; this takes {}{}", call.user.who(), to_text(call.user.role),
                   to_text(route.least), route.least == Role::admin ? "" : " or more"),
       {},
       "an administrator gives tokens: tutti token create"});
}

void Router::route(Call call) const {
  const auto whole = net::path_segments(call.request.target);
  if (!whole) return call.refuse(whole.error());
  std::vector<std::string> shorter = *whole;
  const std::string verb = shorter.empty() ? std::string() : take_verb(shorter.back());
  std::string allowed;
  for (const Route& route : routes_) {
    if (!route.verb.empty() && route.verb != verb) continue;
    auto parts = match(route.pattern, route.verb.empty() ? *whole : shorter);
    if (!parts) continue;
    const bool head = call.request.method == "HEAD" && route.method == "GET";
    if (route.method == call.request.method || head) {
      call.parts = *std::move(parts);
      return pass_on(route, std::move(call));
    }
    allowed += (allowed.empty() ? "" : ", ") + route.method;
  }
  if (allowed.empty()) {
    return call.refuse({Code::not_found, "there is nothing at " + call.request.path, {}, {}});
  }
  const Error error{Code::invalid, call.request.method + " means nothing here", call.request.path,
                    "allowed: " + allowed};
  call.send({.status = 405,
             .headers = {{"Content-Type", "application/json"}, {"Allow", allowed}},
             .body = error_json(error)});
}

}  // namespace tutti
