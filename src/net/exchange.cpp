#include "net/exchange.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "net/socket.h"

namespace tutti::net {
namespace {

/// The address that a host is itself, if it is one.
std::optional<IpAddress> literal(const Url& url) {
  IpAddress out{.bytes = std::vector<std::uint8_t>(4), .port = url.port};
  if (::inet_pton(AF_INET, url.host.c_str(), out.bytes.data()) == 1) return out;
  out.bytes.resize(16);
  if (::inet_pton(AF_INET6, url.host.c_str(), out.bytes.data()) == 1) return out;
  return std::nullopt;
}

Error connect_error(const Url& url, int error) {
  Error out = system_error("connect to", url.text(), error);
  if (error == ECONNREFUSED) {
    out.what = "connection refused: no server listens there";
    out.hint = "start it (tutti serve), or check the address";
  } else if (error == ENOENT && url.scheme == Url::Scheme::unix_socket) {
    out.what = "there is no such socket: no server has made it";
    out.hint = "start one (tutti serve), or check the path";
  } else if (error == EACCES && url.scheme == Url::Scheme::unix_socket) {
    out.hint = "the socket's owner decides who may connect";
  }
  return out;
}

bool may_repeat(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE" ||
         method == "OPTIONS";
}

}  // namespace

// --- ClientCore ---------------------------------------------------------------------------------

Result<TlsSettings> ClientCore::tls() {
  if (!tls_) tls_ = TRY(read_client_tls(settings.tls));
  return tls_;
}

std::unique_ptr<Transport> ClientCore::take(const Url& url) {
  auto& of_server = kept_[url.server()];
  while (!of_server.empty()) {
    std::unique_ptr<Transport> newest = std::move(of_server.back().transport);
    of_server.pop_back();
    // An open one has nothing to read.
    if (newest->read(scratch).state == Progress::State::wait_readable) return newest;
  }
  return nullptr;
}

void ClientCore::keep(const Url& url, std::unique_ptr<Transport> transport) {
  std::string server = url.server();
  auto& of_server = kept_[server];
  if (of_server.size() >= settings.idle_connections) of_server.pop_front();
  const auto end = [weak = weak_from_this(), server, which = transport.get()] {
    if (const auto self = weak.lock()) self->drop(server, which);
  };
  auto watch = loop.watch(transport->descriptor(), end);
  if (!watch) return;
  watch->want(/*readable=*/true, /*writable=*/false);
  of_server.push_back({.transport = std::move(transport),
                       .watch = *std::move(watch),
                       .expiry = loop.after(settings.idle, end)});
}

void ClientCore::drop(const std::string& server, const Transport* transport) {
  auto& of_server = kept_[server];
  std::erase_if(of_server, [&](const Kept& kept) { return kept.transport.get() == transport; });
  if (of_server.empty()) kept_.erase(server);
}

Duplex ClientCore::hand_over(std::unique_ptr<Transport> transport, std::string read) {
  const auto released = [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self) std::erase_if(self->links_, [](const auto& link) { return link->closed(); });
  };
  links_.push_back(std::make_shared<DuplexLink>(loop, released));
  links_.back()->attach(std::move(transport), {}, std::move(read));
  return Duplex(links_.back());
}

ClientCore::~ClientCore() {
  for (const auto& link : std::exchange(links_, {}))
    link->close(fail(Code::io, "the client is gone"));
}

// --- Getting a connection -----------------------------------------------------------------------

Exchange::Exchange(std::shared_ptr<ClientCore> core, ClientRequest request, ExchangeOutcome outcome)
    : core_(std::move(core)), request_(std::move(request)), outcome_(std::move(outcome)) {}

void Exchange::start() {
  const auto self = shared_from_this();
  if (finished_) return;
  wait(request_.deadline, fmt::format("no answer within {} s", request_.deadline.in_seconds()));
  if (auto kept = core_->take(request_.url)) {
    reused_ = true;
    shaken_ = true;
    return use(std::move(kept));
  }
  connect();
}

/// To whom the connection goes at first.
const Url& Exchange::hop() const {
  const bool direct = !core_->settings.proxy || request_.url.scheme == Url::Scheme::unix_socket;
  return direct ? request_.url : core_->settings.proxy->url;
}

void Exchange::connect() {
  const Url& url = hop();
  if (url.scheme == Url::Scheme::unix_socket) {
    Opened opened = connect_unix(url.socket);
    if (opened.error != 0) return fail_with(connect_error(url, opened.error));
    return use(socket_transport(std::move(opened.socket)));
  }
  if (auto address = literal(url)) {
    addresses_.push_back(*std::move(address));
    return connect_next();
  }
  core_->loop.resolve(url.host, url.port,
                      [weak = weak_from_this()](Result<std::vector<IpAddress>> found) {
                        const auto self = weak.lock();
                        if (!self || self->finished_) return;
                        if (!found) return self->fail_with(std::move(found).error());
                        self->addresses_ = *std::move(found);
                        std::ranges::reverse(self->addresses_);
                        self->connect_next();
                      });
}

void Exchange::connect_next() {
  const IpAddress address = std::move(addresses_.back());
  addresses_.pop_back();
  Opened opened = connect_tcp(address);
  if (opened.error != 0) {
    if (addresses_.empty()) return fail_with(connect_error(hop(), opened.error));
    return connect_next();
  }
  connecting_ = std::move(opened.socket);
  auto watch = core_->loop.watch(connecting_.get(), [this] { on_connected(); });
  if (!watch) return fail_with(std::move(watch).error());
  watch_ = *std::move(watch);
  watch_.want(/*readable=*/false, /*writable=*/true);
}

void Exchange::on_connected() {
  const auto self = shared_from_this();
  const int error = socket_error(connecting_.get());
  if (error == EINPROGRESS) return;
  watch_ = Watch();
  Descriptor socket = std::exchange(connecting_, Descriptor());
  if (error == 0 && &hop() != &request_.url) return ask_proxy(std::move(socket));
  if (error == 0) return start_tls(std::move(socket));
  if (addresses_.empty()) return fail_with(connect_error(hop(), error));
  connect_next();
}

void Exchange::ask_proxy(Descriptor socket) {
  const auto opened = [this](Result<Descriptor> through) {
    const auto self = shared_from_this();
    tunnel_.reset();
    if (!through) return fail_with(std::move(through).error());
    start_tls(*std::move(through));
  };
  tunnel_.emplace(core_->loop, std::move(socket), *core_->settings.proxy, request_.url, opened);
}

void Exchange::start_tls(Descriptor socket) {
  if (request_.url.scheme != Url::Scheme::https) return use(socket_transport(std::move(socket)));
  const auto tls = core_->tls();
  if (!tls) return fail_with(tls.error());
  const std::string& name = core_->settings.tls.server_name;
  use(connect_tls(std::move(socket), *tls, name.empty() ? request_.url.host : name));
}

void Exchange::use(std::unique_ptr<Transport> transport) {
  transport_ = std::move(transport);
  auto watch = core_->loop.watch(transport_->descriptor(), [this] { on_ready(); });
  if (!watch) return fail_with(std::move(watch).error());
  watch_ = *std::move(watch);
  parser_.emplace(request_.method == "HEAD", core_->settings.header_bytes,
                  [this](std::string_view piece) { take_body(piece); });
  outbox_.add(request_text());
  outbox_.add(std::make_shared<const std::string>(request_.body));
  on_ready();
}

std::string Exchange::request_text() const {
  std::string out = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request_.method,
                                request_.url.target, request_.url.host_header());
  for (std::size_t index = 0; index < request_.headers.size(); ++index) {
    const auto [name, value] = request_.headers[index];
    out.append(name).append(": ").append(value).append("\r\n");
  }
  const bool may_have_body = request_.method != "GET" && request_.method != "HEAD";
  if (may_have_body || !request_.body.empty()) {
    out += fmt::format("Content-Length: {}\r\n", request_.body.size());
  }
  return out + "\r\n";
}

// --- Writing and reading ------------------------------------------------------------------------

void Exchange::on_ready() {
  const auto self = shared_from_this();
  if (finished_ || !shake_hands()) return;
  write_some();
  read_some();
  if (!finished_ && transport_) arm();
}

bool Exchange::shake_hands() {
  if (shaken_) return true;
  const Progress progress = transport_->handshake();
  shaken_ = progress.done();
  if (progress.waits()) {
    const bool readable = progress.state == Progress::State::wait_readable;
    watch_.want(readable, !readable);
  } else if (!shaken_) {
    fail_with(transport_->error());
  }
  return shaken_;
}

/// A server may answer and close before it has read all: then what it said is still read.
void Exchange::write_some() {
  write_waits_readable_ = false;
  if (outbox_.empty() || !write_error_.empty()) return;
  const Progress progress = outbox_.flush(*transport_);
  write_waits_readable_ = progress.state == Progress::State::wait_readable;
  if (!progress.done() && !progress.waits()) write_error_ = transport_->error().what;
}

void Exchange::read_some() {
  read_waits_writable_ = false;
  while (!finished_ && transport_) {
    const Progress progress = transport_->read(core_->scratch);
    switch (progress.state) {
      case Progress::State::done:
        heard_ = true;
        if (!take({core_->scratch.data(), progress.bytes})) return;
        break;
      case Progress::State::wait_readable:
        return;
      case Progress::State::wait_writable:
        read_waits_writable_ = true;
        return;
      case Progress::State::ended:
        return on_end_of_input("");
      case Progress::State::failed:
        return on_end_of_input(transport_->error().what);
    }
  }
}

/// False when the exchange has come to its end.
bool Exchange::take(std::string_view bytes) {
  if (!input_.empty()) {
    input_ += bytes;
    bytes = input_;
  }
  std::size_t used = 0;
  for (;;) {
    const std::size_t now = parser_->feed(bytes.substr(used));
    used += now;
    if (finished_) return false;  // A callback dropped the call.
    if (parser_->stage() == Stage::refused) {
      fail_with({.code = Code::io,
                 .what = parser_->error(),
                 .where = request_.url.text(),
                 .hint = "is that really the server's address?"});
      return false;
    }
    if (!head_seen_ && parser_->stage() != Stage::head) on_head();
    if (finished_) return false;
    if (parser_->stage() == Stage::done) {
      input_ = std::string(bytes.substr(used));
      succeed();
      return false;
    }
    if (now == 0 || used == bytes.size()) break;
  }
  input_ = std::string(bytes.substr(used));
  return true;
}

void Exchange::on_head() {
  head_seen_ = true;
  response_ = std::move(parser_->head());
  if (outcome_.collected()) return;
  if (outcome_.follower.head) outcome_.follower.head(response_);
  if (finished_) return;
  deadline_ = Timer();
  if (request_.silence != Duration::max()) {
    wait(request_.silence, fmt::format("nothing came for {} s", request_.silence.in_seconds()));
  }
}

void Exchange::take_body(std::string_view piece) {
  if (finished_) return;
  if (!outcome_.collected()) {
    if (request_.silence != Duration::max()) {
      wait(request_.silence, fmt::format("nothing came for {} s", request_.silence.in_seconds()));
    }
    if (outcome_.follower.body) outcome_.follower.body(piece);
    return;
  }
  response_.body += piece;
  if (response_.body.size() <= core_->settings.body_bytes) return;
  fail_with({.code = Code::limit,
             .what = fmt::format("the answer has more than {} bytes", core_->settings.body_bytes),
             .where = request_.url.text(),
             .hint = "ask for less of it at once"});
}

void Exchange::on_end_of_input(const std::string& error) {
  if (!heard_ && reused_ && may_repeat(request_.method)) return repeat();
  if (heard_ && error.empty()) {
    parser_->end();
    if (!head_seen_ && parser_->stage() != Stage::head && parser_->stage() != Stage::refused) {
      on_head();
    }
    if (finished_) return;
    if (parser_->stage() == Stage::done) return succeed();
  }
  fail_with(lost(error));
}

/// Once more, on a connection of its own.
void Exchange::repeat() {
  reused_ = shaken_ = false;
  watch_ = Watch();
  transport_.reset();
  outbox_ = Outbox();
  write_error_.clear();
  connect();
}

Error Exchange::lost(const std::string& error) const {
  std::string what = heard_ ? "the server closed the connection in the middle of its answer"
                            : "the server closed the connection without an answer";
  if (const std::string& why = error.empty() ? write_error_ : error; !why.empty()) {
    what += ": " + why;
  }
  return {.code = Code::io,
          .what = std::move(what),
          .where = request_.url.text(),
          .hint = may_repeat(request_.method) ? "try again" : std::string(maybe_done)};
}

void Exchange::arm() {
  const bool write = !outbox_.empty() && write_error_.empty();
  watch_.want(!read_waits_writable_ || (write && write_waits_readable_),
              (write && !write_waits_readable_) || read_waits_writable_);
}

void Exchange::wait(Duration time, std::string what) {
  deadline_ = core_->loop.after(time, [this, what = std::move(what)] {
    const auto self = shared_from_this();
    fail_with({.code = Code::io,
               .what = what,
               .where = request_.url.text(),
               .hint = "is the server busy, or something between it and us?"});
  });
}

// --- The end ------------------------------------------------------------------------------------

void Exchange::succeed() {
  watch_ = Watch();
  const bool changed = response_.status == 101;
  if (changed && outcome_.upgraded) {
    const auto self = shared_from_this();
    Duplex duplex = core_->hand_over(std::move(transport_), std::move(input_));
    auto upgraded = std::move(outcome_.upgraded);
    cancel();
    return upgraded(std::move(duplex));
  }
  const bool keep = parser_->keep_alive() && input_.empty() && outbox_.empty() && !changed;
  if (keep) core_->keep(request_.url, std::move(transport_));
  finish(std::move(response_));
}

void Exchange::fail_with(Error error) {
  if (error.where.empty()) error.where = request_.url.text();
  finish(tutti::fail(std::move(error)));
}

void Exchange::finish(Result<Response> result) {
  if (std::exchange(finished_, true)) return;
  watch_ = Watch();
  deadline_ = Timer();
  transport_.reset();
  tunnel_.reset();
  connecting_ = Descriptor();
  // Moved, because the call, and with it this object's callbacks, may go while one of them runs.
  if (auto done = std::move(outcome_.done)) return done(std::move(result));
  if (auto upgraded = std::move(outcome_.upgraded)) {
    if (!result) return upgraded(tutti::fail(std::move(result).error()));
    return upgraded(tutti::fail(not_upgraded(*result)));
  }
  auto end = std::move(outcome_.follower.end);
  if (!end) return;
  if (result) {
    end({});
  } else {
    end(tutti::fail(std::move(result).error()));
  }
}

Error Exchange::not_upgraded(const Response& answer) const {
  constexpr std::size_t shown = 500;
  return {.code = Code::conflict,
          .what = fmt::format("the server answered {} {}: {}", answer.status,
                              reason_phrase(answer.status), answer.body.substr(0, shown)),
          .where = request_.url.text()};
}

void Exchange::cancel() {
  finished_ = true;
  watch_ = Watch();
  deadline_ = Timer();
  transport_.reset();
  tunnel_.reset();
}

}  // namespace tutti::net
