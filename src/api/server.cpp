#include "api/server.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "api/json_text.h"
#include "format/json.h"

namespace tutti {
namespace {

/// Lines of the audit log about what was refused, of those whom nobody knows together and of each
/// user: more of them would push out the others.
constexpr std::uint32_t strangers_per_second = 1;
constexpr std::uint32_t refusals_per_second = 10;
constexpr std::size_t path_most = 1000;

bool changes_something(const net::Request& request) {
  const std::string& method = request.method;
  if (method != "GET" && method != "HEAD" && method != "OPTIONS") return true;
  return request.path.ends_with(":attach");
}

/// Visible letters of ASCII, at most so many: the rest as %XX.
std::string plain(std::string_view text, std::size_t most) {
  std::string out;
  for (const char letter : text) {
    if (out.size() >= most) return out + "...";
    const bool visible = letter > ' ' && letter <= '~';
    out += visible ? std::string(1, letter)
                   : fmt::format("%{:02X}", static_cast<unsigned char>(letter));
  }
  return out;
}

std::string line_of(const Call& call, int status, Instant at) {
  const net::Request& request = call.request;
  const User& user = call.user;
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("at", rfc3339(at)).member("user", user.name);
  std::string by = user.token.empty() ? "" : "token " + user.token;
  if (user.uid) by = fmt::format("uid {}", *user.uid);
  json.member("by", by).member("from", request.peer->local ? "socket" : request.peer->address);
  json.member("method", plain(request.method, 20));
  json.member("path", plain(request.target.substr(0, request.target.find('?')), path_most));
  json.member("status", status);
  if (call.dry_run) json.member("dry_run", true);
  if (const std::string jobs = call.made.text(); !jobs.empty()) json.member("jobs", jobs);
  return out;
}

}  // namespace

Server::Server(net::EventLoop& loop, Ports ports)
    : ports_(std::move(ports)),
      rate_(ports_.requests_per_second),
      strangers_(strangers_per_second),
      refusals_(refusals_per_second),
      answered_([this](const Call& call, int status) { answered(call, status); }),
      http_(loop, {}, [this](net::Request request, net::Answer given) {
        answer(std::move(request), std::move(given));
      }) {}

void Server::answered(const Call& call, int status) {
  meter_.answered(call.request.method, status, net::EventLoop::now() - call.began);
  if (ports_.audit != nullptr && changes_something(call.request)) note(call, status);
}

void Server::note(const Call& call, int status) {
  const bool known = call.user.role != Role::anybody;
  const Instant now = net::EventLoop::now();
  const bool too_many = !known ? strangers_.take({}, now).us > 0
                               : status >= 400 && refusals_.take(call.user.who(), now).us > 0;
  if (too_many) {
    ++left_out_;
    return;
  }
  std::string line = line_of(call, status, ports_.clock());
  if (left_out_ > 0) line += fmt::format(",\"left_out\":{}", std::exchange(left_out_, 0));
  line += '}';
  const Result<void> written = ports_.audit->add(line);
  if (!written && !std::exchange(complained_, true) && ports_.complain) {
    ports_.complain(written.error());
  }
  if (written) complained_ = false;
}

/// Else he is told when to come again.
bool Server::has_patience(Call& call, const std::string& whose) {
  const Duration wait = rate_.take(whose, net::EventLoop::now());
  if (wait.us <= 0) return true;
  const std::int64_t seconds = (wait.us + 999'999) / 1'000'000;
  const Error error{Code::limit,
                    fmt::format("{} asks more than {} times a second", whose, rate_.per_second()),
                    {},
                    fmt::format("come again in {} s; POST /api/v1/jobs:batch takes many jobs at "
                                "once; serve --requests-per-second sets the limit",
                                seconds)};
  call.send(
      {.status = 429,
       .headers = {{"Content-Type", "application/json"}, {"Retry-After", std::to_string(seconds)}},
       .body = error_json(error)});
  return false;
}

void Server::answer(net::Request request, net::Answer given) {
  Call call{.request = std::move(request),
            .parts = {},
            .user = {},
            .answer = std::move(given),
            .answered = &answered_,
            .began = net::EventLoop::now()};
  const std::string& address = call.request.peer->address;
  if (open_.contains(call.request.path)) {
    if (has_patience(call, address)) router_.route(std::move(call));
    return;
  }
  Result<User> user = ports_.who(call.request);
  if (!user) {
    if (!has_patience(call, address)) return;
    return call.send(
        {.status = 401,
         .headers = {{"Content-Type", "application/json"}, {"WWW-Authenticate", "Bearer"}},
         .body = error_json(user.error())});
  }
  call.user = *std::move(user);
  pass_on(std::move(call));
}

void Server::pass_on(Call call) {
  if (call.user.role != Role::admin && !has_patience(call, call.user.who())) return;
  if (ports_.audit != nullptr && changes_something(call.request)) {
    // What nobody could account for does not happen.
    if (const Result<void> written = ports_.audit->write_kept(); !written) {
      return call.refuse({Code::io,
                          "the audit log cannot be written: " + written.error().what,
                          {},
                          "nothing can be changed until it can; reading goes on"});
    }
  }
  router_.route(std::move(call));
}

}  // namespace tutti
