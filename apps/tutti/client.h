/// Speaks to a server, for the commands that need one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/value.h"
#include "net/http_client.h"

namespace CLI {
class App;
}

namespace tutti {

/// Where a server is, and whom to trust that it is the one.
struct ServerWords {
  std::string address;
  std::string tls_ca;  ///< A file; empty: those whom the system trusts.
};

class Client {
 public:
  /// The server at that address; where that is empty, the one that TUTTI_SERVER names, else the
  /// user's own, else the machine's. What an error says is for people.
  static Result<Client> find(const ServerWords& words);

  /// What it answers, as JSON; a refusal is the error that it is.
  Result<std::string> get(const std::string& target) const;
  Result<std::string> post(const std::string& target, std::string body = {},
                           std::string_view type = "application/json") const;
  Result<std::string> put(const std::string& target, std::string body) const;
  Result<std::string> remove(const std::string& target) const;
  /// The same for what must not be done twice: sent again, where an answer was lost, with a key
  /// that tells the server so.
  Result<std::string> post_once(const std::string& target, const std::string& body,
                                std::string_view type = "application/json") const;
  /// The same bit by bit, as it comes.
  struct Stream {
    std::string target;
    std::string last_event_id;           ///< Of a stream of events: where to go on.
    Duration silence = Duration::max();  ///< It fails when nothing came for so long.
  };
  /// Takes a piece; false: that is enough.
  using Piece = std::function<Result<bool>(std::string_view)>;
  Result<void> follow(const Stream& stream, const Piece& piece) const;

  /// A request to this server, with what it needs to know who asks.
  net::ClientRequest request_for(std::string method, const std::string& target) const;
  const net::ClientSettings& settings() const { return settings_; }

 private:
  Client(net::Url server, std::string token, net::ClientSettings settings)
      : server_(std::move(server)), token_(std::move(token)), settings_(std::move(settings)) {}
  Result<std::string> ask(net::ClientRequest request) const;

  net::Url server_;
  std::string token_;
  net::ClientSettings settings_;
};

/// Where the server of a user listens who did not say where: root's is the machine's.
std::string usual_socket();

/// `--server URL` and `--tls-ca FILE`.
void declare_server(CLI::App& app, ServerWords& words);

}  // namespace tutti
