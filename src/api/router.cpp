#include "api/router.h"

#include <fmt/core.h>

#include <optional>
#include <span>
#include <utility>

#include "api/http_meter.h"
#include "api/json_text.h"
#include "base/check.h"
#include "base/hash.h"
#include "net/event_loop.h"
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
  if (call.meter == nullptr) return;
  call.meter->answered(call.request.method, status, net::EventLoop::now() - call.began);
}

}  // namespace

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

void Call::refuse(const Error& error) { send(http_status(error.code), error_json(error)); }

void Router::add(std::string method, std::string_view pattern, Handle handle) {
  auto segments = net::path_segments(pattern);
  CHECK(segments.has_value(), pattern);
  Route route{.method = std::move(method),
              .path = std::string(pattern),
              .pattern = *std::move(segments),
              .verb = {},
              .handle = std::move(handle)};
  route.verb = take_verb(route.pattern.back());
  routes_.push_back(std::move(route));
}

std::vector<std::string> Router::names() const {
  std::vector<std::string> out;
  for (const Route& route : routes_) out.push_back(route.method + " " + route.path);
  return out;
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
      return route.handle(std::move(call));
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
