/// What the connections of one server share. Internal to net/.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "net/http_server.h"
#include "net/socket.h"

namespace tutti::net {

class ServerCore {
 public:
  ServerCore(EventLoop& loop, ServerSettings settings, HttpServer::OnRequest on_request);
  ServerCore(const ServerCore&) = delete;
  ServerCore& operator=(const ServerCore&) = delete;
  ~ServerCore();

  Result<Url> listen(const ListenAt& at);
  Result<void> reload_certificates();
  void stop(Duration grace, EventLoop::Task stopped);
  void remove(const Connection& connection);
  /// Writes `stream` together with others that were pushed to, or at once.
  void write_soon(const std::shared_ptr<StreamState>& stream);
  /// "Mon, 30 Nov 2026 12:00:00 GMT", made once a second.
  const std::string& date();

  EventLoop& loop;
  const ServerSettings settings;
  const HttpServer::OnRequest on_request;
  HttpServer::Counts counts;
  std::size_t bodies_bytes = 0;         ///< Of all requests on their way.
  std::array<char, 64 << 10U> scratch;  ///< Each read goes here first.
  bool stopping = false;

 private:
  struct Listener;

  void accept_from(Listener& listener);
  void add(Descriptor socket, const Listener& listener);
  void look_at_deadlines();
  void write_streams();
  void close_all();

  std::vector<std::unique_ptr<Listener>> listeners_;
  std::unordered_map<const Connection*, std::shared_ptr<Connection>> connections_;
  std::map<std::string, std::size_t, std::less<>> per_peer_;
  std::vector<std::shared_ptr<StreamState>> to_write_;
  Instant written_at_{};
  Timer write_timer_;
  Timer deadline_timer_;
  Timer grace_timer_;
  EventLoop::Task stopped_;
  std::string date_;
  Instant date_until_{};
};

}  // namespace tutti::net
