#include "tutti/client.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "api/access.h"
#include "format/json.h"
#include "net/event_loop.h"
#include "tutti/data_folder.h"

namespace tutti {
namespace {

/// Before a request is sent again whose answer was lost; the server may be about to start anew.
constexpr std::chrono::milliseconds before_sending_again(100);
constexpr int sent_most = 60;

constexpr std::string_view system_socket = "/run/tutti/tutti.sock";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Where a user's server may listen; at the first, unless told otherwise.
std::vector<std::string> user_sockets() {
  std::vector<std::string> out{usual_data() + "/tutti.sock"};
  const std::string folder = variable("XDG_RUNTIME_DIR");  // Empty without logind: in containers.
  if (!folder.empty()) out.insert(out.begin(), folder + "/tutti/tutti.sock");
  return out;
}

bool is_socket(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

std::string text_in(const Value* object, std::string_view field) {
  const Value* const value = object == nullptr ? nullptr : object->find(field);
  return value != nullptr && value->is(Kind::text) ? std::string(value->text_value()) : "";
}

/// The refusal that an answer holds.
Error refusal(const net::Response& response, const std::string& url) {
  const auto body = parse_json(response.body);
  const Value* const error = body ? body->find("error") : nullptr;
  // Who stops, or has too much to do, may be asked again.
  const Code code = response.status == 503 ? Code::io : Code::conflict;
  Error out{code, text_in(error, "message"), text_in(error, "where"), text_in(error, "hint")};
  if (out.what.empty()) {
    out.what = fmt::format("the server answers {} {}", response.status,
                           net::reason_phrase(response.status));
    out.where = url;
  }
  return out;
}

}  // namespace

std::string usual_socket() {
  return ::geteuid() == 0 ? std::string(system_socket) : user_sockets().front();
}

Result<Client> Client::find(const ServerWords& words) {
  std::string where = words.address.empty() ? variable("TUTTI_SERVER") : words.address;
  if (where.empty()) {
    std::vector<std::string> sockets = user_sockets();
    sockets.emplace_back(system_socket);
    const auto found = std::ranges::find_if(sockets, is_socket);
    if (found == sockets.end()) {
      return fail(Code::not_found, "no server found; start one: tutti serve",
                  "--server or TUTTI_SERVER names one that is elsewhere");
    }
    where = "unix://" + *found;
  }
  net::ClientSettings settings;
  settings.tls.ca = words.tls_ca.empty() ? variable("TUTTI_CA") : words.tls_ca;
  return Client(TRY(net::Url::parse(where)), variable("TUTTI_TOKEN"), std::move(settings));
}

net::ClientRequest Client::request_for(std::string method, const std::string& target) const {
  net::ClientRequest request{.method = std::move(method), .url = server_.with_target(target)};
  if (!token_.empty()) request.headers.add("Authorization", "Bearer " + token_);
  return request;
}

Result<std::string> Client::ask(net::ClientRequest request) const {
  const std::string url = request.url.text();
  net::Response response = TRY(net::fetch(std::move(request), settings_));
  if (response.status / 100 != 2) return fail(refusal(response, url));
  return std::move(response.body);
}

Result<std::string> Client::get(const std::string& target) const {
  return ask(request_for("GET", target));
}

Result<std::string> Client::post(const std::string& target, std::string body,
                                 std::string_view type) const {
  net::ClientRequest request = request_for("POST", target);
  request.headers.add("Content-Type", type);
  request.body = std::move(body);
  return ask(std::move(request));
}

Result<std::string> Client::put(const std::string& target, std::string body) const {
  net::ClientRequest request = request_for("PUT", target);
  request.headers.add("Content-Type", "application/json");
  request.body = std::move(body);
  return ask(std::move(request));
}

Result<std::string> Client::remove(const std::string& target) const {
  return ask(request_for("DELETE", target));
}

Result<std::string> Client::post_once(const std::string& target, const std::string& body,
                                      std::string_view type) const {
  const std::string key = random_token();
  bool lost = false;
  for (int sent = 1;; ++sent) {
    net::ClientRequest request = request_for("POST", target);
    request.headers.add("Content-Type", type).add("Idempotency-Key", key);
    request.body = body;
    Result<std::string> answer = ask(std::move(request));
    if (answer || answer.error().code != Code::io) return answer;
    lost = lost || answer.error().hint == net::maybe_done;
    if (!lost || sent == sent_most) return answer;
    std::this_thread::sleep_for(before_sending_again);
  }
}

Result<void> Client::follow(const Stream& stream, const Piece& piece) const {
  net::EventLoop loop;
  net::HttpClient client(loop, settings_);
  net::ClientRequest request = request_for("GET", stream.target);
  request.silence = stream.silence;
  if (!stream.last_event_id.empty()) request.headers.add("Last-Event-ID", stream.last_event_id);
  const std::string url = request.url.text();
  Result<void> outcome;
  bool enough = false;
  net::Response head;
  net::HttpClient::Follower follower;
  follower.head = [&](const net::Response& response) { head = response; };
  follower.body = [&](std::string_view text) {
    if (head.status / 100 != 2) {
      head.body += text;
      return;
    }
    if (enough) return;
    const Result<bool> more = piece(text);
    if (!more) outcome = fail(more.error());
    enough = !more || !*more;
    if (enough) loop.stop();
  };
  follower.end = [&](Result<void> end) {
    if (!enough) outcome = std::move(end);
    loop.stop();
  };
  const net::Call call = client.follow(std::move(request), std::move(follower));
  loop.run();
  if (outcome && head.status / 100 != 2) return fail(refusal(head, url));
  return outcome;
}

void declare_server(CLI::App& app, ServerWords& words) {
  app.add_option("--server", words.address,
                 "http, https or unix URL; else TUTTI_SERVER, else the socket")
      ->type_name("URL")
      ->take_last();
  app.add_option("--tls-ca", words.tls_ca,
                 "Who signs https servers' certificates, in PEM; else TUTTI_CA, else the system's")
      ->type_name("FILE")
      ->take_last();
}

}  // namespace tutti
