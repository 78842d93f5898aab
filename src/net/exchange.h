/// One request of a client and its response. Internal to net/.
///
/// kept connection or (resolve -> connect -> handshake) -> write and read -> done. Lives in its
/// Call; every callback of the loop holds it weakly or dies with it.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/duplex_link.h"
#include "net/http_client.h"
#include "net/parser.h"
#include "net/transport.h"
#include "net/tunnel.h"

namespace tutti::net {

/// What the exchanges of one client share: connections that wait for another request.
class ClientCore : public std::enable_shared_from_this<ClientCore> {
 public:
  ClientCore(EventLoop& on, ClientSettings with) : loop(on), settings(std::move(with)) {}

  /// Reads the files of the settings when they are first needed.
  Result<TlsSettings> tls();

  /// A connection that is still open, or null.
  ~ClientCore();
  ClientCore(const ClientCore&) = delete;
  ClientCore& operator=(const ClientCore&) = delete;

  std::unique_ptr<Transport> take(const Url& url);
  void keep(const Url& url, std::unique_ptr<Transport> transport);

  /// Hands a connection over, with what was read behind the answer.
  Duplex hand_over(std::unique_ptr<Transport> transport, std::string read);

  EventLoop& loop;
  const ClientSettings settings;
  std::array<char, 64 << 10U> scratch;

 private:
  struct Kept {
    std::unique_ptr<Transport> transport;
    Watch watch;  ///< Whatever comes now is the end.
    Timer expiry;
  };

  void drop(const std::string& server, const Transport* transport);

  std::map<std::string, std::deque<Kept>> kept_;
  TlsSettings tls_;
  std::vector<std::shared_ptr<DuplexLink>> links_;  ///< Connections that were handed over.
};

/// What becomes of a response.
struct ExchangeOutcome {
  bool collected() const { return done || upgraded; }

  HttpClient::Done done;
  HttpClient::Upgraded upgraded;
  HttpClient::Follower follower;  ///< Where neither of these is set.
};

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(std::shared_ptr<ClientCore> core, ClientRequest request, ExchangeOutcome outcome);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void start();
  /// No callback comes any more.
  void cancel();

 private:
  const Url& hop() const;
  void connect();
  void connect_next();
  void on_connected();
  void ask_proxy(Descriptor socket);
  void start_tls(Descriptor socket);
  void use(std::unique_ptr<Transport> transport);
  void on_ready();
  bool shake_hands();
  void write_some();
  void read_some();
  bool take(std::string_view bytes);
  void take_body(std::string_view piece);
  void on_head();
  void on_end_of_input(const std::string& error);
  void arm();
  void wait(Duration time, std::string what);

  void repeat();
  void succeed();
  void fail_with(Error error);
  void finish(Result<Response> result);
  Error lost(const std::string& error) const;
  Error not_upgraded(const Response& answer) const;
  std::string request_text() const;

  std::shared_ptr<ClientCore> core_;
  ClientRequest request_;
  ExchangeOutcome outcome_;
  std::vector<IpAddress> addresses_;  ///< Still to be tried, the next one last.
  Descriptor connecting_;
  std::optional<Tunnel> tunnel_;
  std::unique_ptr<Transport> transport_;
  Watch watch_;
  Timer deadline_;
  Outbox outbox_;
  std::optional<ResponseParser> parser_;
  std::string input_;  ///< Read, not parsed.
  Response response_;
  bool finished_ = false;
  bool reused_ = false;  ///< The connection has served before.
  bool shaken_ = false;
  bool heard_ = false;  ///< A byte of the response has come.
  bool head_seen_ = false;
  bool read_waits_writable_ = false;
  bool write_waits_readable_ = false;
  std::string write_error_;
};

}  // namespace tutti::net
