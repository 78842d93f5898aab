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

class Client {
 public:
  /// The server at `address`; where that is empty, the one that TUTTI_SERVER names, else the user's
  /// own, else the machine's. What an error says is for people.
  static Result<Client> find(const std::string& address);

  /// What it answers, as JSON; a refusal is the error that it is.
  Result<std::string> get(const std::string& target) const;
  Result<std::string> post(const std::string& target, std::string body = {},
                           std::string_view type = "application/json") const;
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

 private:
  Client(net::Url server, std::string token)
      : server_(std::move(server)), token_(std::move(token)) {}
  Result<std::string> ask(net::ClientRequest request) const;

  net::Url server_;
  std::string token_;
};

/// Where the server of a user listens who did not say where: root's is the machine's.
std::string usual_socket();

/// `--server URL`.
void declare_server(CLI::App& app, std::string& address);

}  // namespace tutti
