#include "net/http_server.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "net/connection.h"
#include "net/server_core.h"

namespace tutti::net {
namespace {

constexpr int accepts_at_once = 64;
/// How long no connection is taken when descriptors or memory have run out.
constexpr Duration out_of_descriptors_pause = Duration::milliseconds(100);
/// So many more than the limit are told so; beyond them they are closed without a word.
constexpr std::size_t turned_away_politely = 64;

/// How often deadlines are looked at: an eighth of the shortest.
Duration step_of(const ServerLimits& limits) {
  const Duration shortest = std::min({limits.handshake, limits.header, limits.body, limits.idle,
                                      limits.write, Duration::seconds(8)});
  return {std::max<std::int64_t>(shortest.us / 8, 1'000)};
}

std::string http_date() {
  constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                     days[static_cast<std::size_t>(utc.tm_wday)], utc.tm_mday,
                     months[static_cast<std::size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour,
                     utc.tm_min, utc.tm_sec);
}

}  // namespace

struct ServerCore::Listener {
  explicit Listener(ListeningSocket from) : socket(std::move(from)) {}

  ListeningSocket socket;
  std::optional<TlsFiles> files;
  TlsSettings tls;  ///< Null for plain HTTP.
  Watch watch;
  Timer resume;
};

ServerCore::ServerCore(EventLoop& on, ServerSettings with, HttpServer::OnRequest call)
    : loop(on), settings(with), on_request(std::move(call)) {
  look_at_deadlines();
}

ServerCore::~ServerCore() {
  stopping = true;
  close_all();
}

Result<Url> ServerCore::listen(const ListenAt& at) {
  constexpr std::string_view unix_prefix = "unix:";
  Url url;
  TlsSettings tls;
  if (at.tls) tls = TRY(read_server_tls(*at.tls));
  std::unique_ptr<Listener> listener;
  if (at.address.starts_with(unix_prefix)) {
    std::string path = at.address.substr(unix_prefix.size());
    if (path.starts_with("//")) path.erase(0, 2);
    listener = std::make_unique<Listener>(TRY(ListeningSocket::unix_file(path, at.socket_mode)));
    url = Url{.scheme = Url::Scheme::unix_socket, .port = 0};
    url.socket = path;
  } else {
    listener = std::make_unique<Listener>(TRY(ListeningSocket::tcp(at.address)));
    url = TRY(Url::parse((tls ? "https://" : "http://") + listener->socket.address()));
  }
  Listener& mine = *listener;
  mine.files = at.tls;
  mine.tls = std::move(tls);
  mine.watch = TRY(loop.watch(mine.socket.descriptor(), [this, &mine] { accept_from(mine); }));
  mine.watch.want(/*readable=*/true, /*writable=*/false);
  listeners_.push_back(std::move(listener));
  return url;
}

Result<void> ServerCore::reload_certificates() {
  std::vector<std::pair<Listener*, TlsSettings>> read;
  for (const auto& listener : listeners_) {
    if (listener->files) read.emplace_back(listener.get(), TRY(read_server_tls(*listener->files)));
  }
  for (auto& [listener, tls] : read) listener->tls = std::move(tls);
  return {};
}

void ServerCore::accept_from(Listener& listener) {
  for (int turn = 0; turn < accepts_at_once; ++turn) {
    Opened accepted = accept_one(listener.socket);
    if (accepted.socket.valid()) {
      add(std::move(accepted.socket), listener);
    } else if (accepted.error == EAGAIN || accepted.error == EWOULDBLOCK) {
      return;
    } else if (accepted.error == EMFILE || accepted.error == ENFILE || accepted.error == ENOBUFS ||
               accepted.error == ENOMEM) {
      ++counts.turned_away;
      listener.watch.want(/*readable=*/false, /*writable=*/false);
      listener.resume = loop.after(out_of_descriptors_pause, [&listener] {
        listener.watch.want(/*readable=*/true, /*writable=*/false);
      });
      return;
    }
  }
}

void ServerCore::add(Descriptor socket, const Listener& listener) {
  const ServerLimits& limits = settings.limits;
  ++counts.accepted;
  auto peer = std::make_shared<const Peer>(peer_of(socket.get()));
  const std::size_t all = connections_.size() + 1;
  if (all > limits.connections + turned_away_politely) {
    ++counts.turned_away;
    return;
  }
  auto transport = listener.tls ? accept_tls(std::move(socket), listener.tls)
                                : socket_transport(std::move(socket));
  auto connection = std::make_shared<Connection>(*this, std::move(transport), std::move(peer));
  connections_.emplace(connection.get(), connection);
  const std::size_t of_peer = ++per_peer_[connection->peer().address];
  counts.connections = connections_.size();
  if (!connection->start()) return connection->close(Gone::left);
  if (all <= limits.connections && of_peer <= limits.connections_per_peer) return;
  ++counts.turned_away;
  const std::string limit = all > limits.connections ? std::to_string(limits.connections)
                                                     : std::to_string(limits.connections_per_peer) +
                                                           " from " + connection->peer().address;
  connection->turn_away({503, "too_many_connections",
                         "the server holds " + limit + " connections, no more are allowed"});
}

void ServerCore::remove(const Connection& connection) {
  const auto of_peer = per_peer_.find(connection.peer().address);
  if (of_peer != per_peer_.end() && --of_peer->second == 0) per_peer_.erase(of_peer);
  connections_.erase(&connection);
  counts.connections = connections_.size();
  if (stopping && connections_.empty() && stopped_) {
    grace_timer_ = Timer();
    loop.post(std::exchange(stopped_, nullptr));
  }
}

void ServerCore::look_at_deadlines() {
  const Instant now = EventLoop::now();
  std::vector<std::shared_ptr<Connection>> late;
  for (const auto& [key, connection] : connections_) {
    if (connection->deadline() <= now) late.push_back(connection);
  }
  for (const auto& connection : late) connection->on_deadline();
  deadline_timer_ = loop.after(step_of(settings.limits), [this] { look_at_deadlines(); });
}

// --- Streams ------------------------------------------------------------------------------------

void ServerCore::write_soon(const std::shared_ptr<StreamState>& stream) {
  if (settings.coalesce.us == 0) return stream->connection->advance();
  if (std::exchange(stream->dirty, true)) return;
  to_write_.push_back(stream);
  if (write_timer_.waiting()) return;
  // The first chunk after a pause goes out at the end of this turn of the loop.
  const Duration since = EventLoop::now() - written_at_;
  const Duration delay = since < settings.coalesce ? settings.coalesce - since : Duration{};
  write_timer_ = loop.after(delay, [this] { write_streams(); });
}

void ServerCore::write_streams() {
  written_at_ = EventLoop::now();
  for (const auto& stream : std::exchange(to_write_, {})) {
    stream->dirty = false;
    if (stream->connection != nullptr) stream->connection->advance();
  }
}

// --- The end ------------------------------------------------------------------------------------

void ServerCore::stop(Duration grace, EventLoop::Task stopped) {
  stopping = true;
  listeners_.clear();
  stopped_ = std::move(stopped);
  grace_timer_ = loop.after(grace, [this] { close_all(); });
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [key, connection] : connections_) all.push_back(connection);
  for (const auto& connection : all) connection->finish_up();
  if (connections_.empty() && stopped_) loop.post(std::exchange(stopped_, nullptr));
}

void ServerCore::close_all() {
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [key, connection] : connections_) all.push_back(connection);
  for (const auto& connection : all) connection->close(Gone::stopping);
}

const std::string& ServerCore::date() {
  const Instant now = EventLoop::now();
  if (now >= date_until_) {
    date_ = http_date();
    date_until_ = now + Duration::seconds(1);
  }
  return date_;
}

// --- HttpServer ---------------------------------------------------------------------------------

HttpServer::HttpServer(EventLoop& loop, ServerSettings settings, OnRequest on_request)
    : core_(std::make_shared<ServerCore>(loop, settings, std::move(on_request))) {}

HttpServer::~HttpServer() = default;

Result<Url> HttpServer::listen(const ListenAt& at) { return core_->listen(at); }

Result<void> HttpServer::reload_certificates() { return core_->reload_certificates(); }

void HttpServer::stop(Duration grace, EventLoop::Task stopped) {
  core_->stop(grace, std::move(stopped));
}

HttpServer::Counts HttpServer::counts() const { return core_->counts; }

}  // namespace tutti::net
