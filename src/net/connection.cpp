#include "net/connection.h"

#include <fmt/core.h>

#include <utility>

#include "base/check.h"

namespace tutti::net {
namespace {

/// Reads in a row before other connections have their turn.
constexpr int reads_at_once = 16;
/// What a client may send behind the request of an open stream.
constexpr std::size_t held_behind_stream = 16 << 10U;
/// A client that does not take its answers gets no further ones made.
constexpr std::size_t unwritten_at_most = 1 << 20U;
/// After the last answer the connection stays half open, so that the answer is not lost with a
/// reset when the client still sends; this long, and for this much.
constexpr Duration drain_time = Duration::seconds(2);
constexpr std::size_t drain_bytes = 8 << 20U;

bool has_no_body(int status) { return status < 200 || status == 204 || status == 304; }

std::string head_text(const Response& head, std::string_view date) {
  std::string out;
  out.reserve(256);
  out +=
      fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", head.status, reason_phrase(head.status), date);
  for (std::size_t index = 0; index < head.headers.size(); ++index) {
    const auto [name, value] = head.headers[index];
    out.append(name).append(": ").append(value).append("\r\n");
  }
  return out;
}

}  // namespace

Connection::Connection(ServerCore& core, std::unique_ptr<Transport> transport,
                       std::shared_ptr<const Peer> peer)
    : core_(core), transport_(std::move(transport)), peer_(std::move(peer)) {}

Connection::~Connection() = default;

Result<void> Connection::start() {
  watch_ = TRY(core_.loop.watch(transport_->descriptor(), [this] { on_ready(); }));
  enter(Phase::handshake);
  if (!shake_hands()) return {};
  arm();
  enter(phase());
  return {};
}

void Connection::turn_away(const Refusal& refusal) {
  if (closed_) return;
  refuse(refusal);
  on_ready();
}

// --- Reading ------------------------------------------------------------------------------------

void Connection::on_ready() {
  const auto self = shared_from_this();
  if (closed_ || !transport_ || (!shaken_ && !shake_hands())) return;
  busy_ = true;
  if (!input_.empty()) consume_input();
  read_some();
  busy_ = false;
  advance();
}

void Connection::on_ready_soon() {
  core_.loop.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_ready();
  });
}

bool Connection::shake_hands() {
  const Progress progress = transport_->handshake();
  shaken_ = progress.done();
  if (progress.waits()) {
    const bool readable = progress.state == Progress::State::wait_readable;
    watch_.want(readable, !readable);
  } else if (!shaken_) {
    close(Gone::left);
  } else if (std::string subject = transport_->certificate(); !subject.empty()) {
    Peer known = *peer_;
    known.certificate = std::move(subject);
    peer_ = std::make_shared<const Peer>(std::move(known));
  }
  return shaken_;
}

void Connection::read_some() {
  read_waits_writable_ = false;
  for (int turn = 0; turn < reads_at_once && may_read(); ++turn) {
    const Progress progress = transport_->read(core_.scratch);
    switch (progress.state) {
      case Progress::State::done:
        take({core_.scratch.data(), progress.bytes});
        if (progress.bytes < core_.scratch.size() && !closed_ && !transport_->buffered()) return;
        break;
      case Progress::State::wait_readable:
        return;
      case Progress::State::wait_writable:
        read_waits_writable_ = true;
        return;
      case Progress::State::ended:
        return on_end_of_input();
      case Progress::State::failed:
        return close(Gone::left);
    }
  }
}

void Connection::take(std::string_view bytes) {
  if (draining_) {
    discarded_ += bytes.size();
    if (discarded_ > drain_bytes) close(Gone::left);
  } else if (closing_) {
    return;  // Nobody will read it.
  } else if (input_.empty()) {
    const std::size_t used = consume(bytes);
    if (!closing_ && used < bytes.size()) input_ = bytes.substr(used);
  } else {
    input_ += bytes;
    consume_input();
  }
}

void Connection::consume_input() {
  const std::size_t used = consume(input_);
  if (closing_ || used == input_.size()) {
    input_ = std::string();  // An idle connection holds no memory.
  } else {
    input_.erase(0, used);
  }
}

std::size_t Connection::consume(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && may_take()) {
    if (!parser_) {
      parser_.emplace(RequestParser::Limits{.header_bytes = core_.settings.limits.header_bytes,
                                            .body_bytes = core_.settings.limits.body_bytes});
      phase_ = Phase::none;  // Its time starts anew.
    }
    const bool in_head = parser_->stage() == Stage::head;
    used += parser_->feed(bytes.substr(used));
    core_.bodies_bytes +=
        parser_->body_bytes() - std::exchange(counted_body_, parser_->body_bytes());
    if (parser_->stage() == Stage::done) {
      dispatch();
      continue;
    }
    if (parser_->stage() == Stage::refused) {
      refuse(parser_->refusal());
    } else if (core_.bodies_bytes > core_.settings.limits.bodies_bytes) {
      refuse({503, "busy", "the server holds too many unfinished requests; try again"});
    } else if (in_head && parser_->awaits_continue() && used == bytes.size()) {
      slots_.push_back({.interim = true});
      flush_slots();
    }
    break;
  }
  blocked_ = used < bytes.size() && !may_take();
  return used;
}

void Connection::dispatch() {
  Slot slot{.chunks = parser_->knows_chunks()};
  if (!parser_->keep_alive() || core_.stopping) closing_ = true;
  Request request = parser_->take();
  forget_request();
  request.peer = peer_;
  slot.head = request.method == "HEAD";
  if (slot.chunks && slots_.empty() && request.headers.lists("Connection", "upgrade")) {
    slot.upgrade = request.headers.find("Upgrade").value_or("");
  }
  slots_.push_back(std::move(slot));
  ++core_.counts.requests;
  core_.on_request(std::move(request),
                   Answer(core_.loop, weak_from_this(), first_slot_ + slots_.size() - 1));
  flush_slots();
}

void Connection::forget_request() {
  core_.bodies_bytes -= std::exchange(counted_body_, 0);
  parser_.reset();
}

void Connection::refuse(const Refusal& refusal) {
  slots_.push_back({.response = error_response(refusal.status, refusal.code, refusal.message)});
  forget_request();  // And with it, maybe, the refusal.
  input_ = std::string();
  closing_ = true;
  ++core_.counts.refused;
}

void Connection::on_end_of_input() {
  ended_ = true;
  if (undecided()) return close(Gone::left);
  forget_request();
  input_ = std::string();
  closing_ = true;
}

// --- Answering ----------------------------------------------------------------------------------

Connection::Slot& Connection::slot(std::uint64_t number) {
  CHECK(number >= first_slot_ && number - first_slot_ < slots_.size(), number, first_slot_);
  return slots_[number - first_slot_];
}

void Connection::answer(std::uint64_t number, Response response) {
  if (closed_) return;
  slot(number).response = std::move(response);
  advance();
}

OpenStream Connection::open_stream(std::uint64_t number, Response head) {
  auto state = std::make_shared<StreamState>();
  state->loop = &core_.loop;
  if (closed_) return OpenStream(std::move(state));
  state->connection = this;
  Slot& mine = slot(number);
  mine.response = std::move(head);
  mine.stream = state;
  advance();
  return OpenStream(std::move(state));
}

Duplex Connection::upgrade(std::uint64_t number, std::string_view protocol,
                           const Headers& headers) {
  if (closed_) return {};
  if (!Headers{{"Upgrade", slot(number).upgrade}}.lists("Upgrade", protocol)) {
    Response refusal =
        error_response(426, "upgrade_required", fmt::format("ask for Upgrade: {}", protocol));
    refusal.headers.add("Upgrade", protocol);
    answer(number, std::move(refusal));
    return {};
  }
  Response head{.status = 101, .headers = headers};
  head.headers.add("Connection", "Upgrade").add("Upgrade", protocol);
  outbox_.add(head_text(head, core_.date()) + "\r\n");
  slots_.clear();
  link_ = std::make_shared<DuplexLink>(core_.loop, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->close(Gone::left);
  });
  Duplex duplex(link_);
  advance();
  return duplex;
}

void Connection::hand_over() {
  phase_ = Phase::none;
  deadline_ = Instant::max();
  watch_ = Watch();
  link_->attach(std::move(transport_), std::move(outbox_), std::move(input_));
}

void Connection::flush_slots() {
  while (!slots_.empty() && !closed_) {
    Slot& front = slots_.front();
    const bool last = closing_ && slots_.size() == 1;
    if (front.interim) {
      outbox_.add(std::string("HTTP/1.1 100 Continue\r\n\r\n"));
    } else if (front.stream) {
      if (!send_stream(front, last)) return;
    } else if (front.response) {
      send_whole(front, last);
    } else {
      return;
    }
    slots_.erase(slots_.begin());
    ++first_slot_;
  }
}

void Connection::send_whole(Slot& slot, bool last) {
  Response& response = *slot.response;
  std::string text = head_text(response, core_.date());
  if (!has_no_body(response.status)) {
    text += fmt::format("Content-Length: {}\r\n", response.body.size());
  }
  if (last) {
    text += "Connection: close\r\n";
  } else if (!slot.chunks) {
    text += "Connection: keep-alive\r\n";
  }
  text += "\r\n";
  outbox_.add(std::move(text));
  if (!slot.head && !has_no_body(response.status)) outbox_.add(std::move(response.body));
}

bool Connection::send_stream(Slot& slot, bool last) {
  StreamState& stream = *slot.stream;
  if (!slot.head_sent) {
    slot.head_sent = true;
    if (!slot.chunks) closing_ = last = true;  // Only its end tells where the body ends.
    std::string text = head_text(*slot.response, core_.date());
    if (slot.chunks) text += "Transfer-Encoding: chunked\r\n";
    if (last) text += "Connection: close\r\n";
    outbox_.add(text + "\r\n");
    if (slot.head) stream.leave(Gone::left);
  }
  if (slot.head) return true;
  if (stream.pending_bytes > 0) {
    if (slot.chunks) outbox_.add(fmt::format("{:x}\r\n", stream.pending_bytes));
    for (auto& chunk : stream.pending) outbox_.add(std::move(chunk));
    if (slot.chunks) outbox_.add(std::string("\r\n"));
    stream.pending.clear();
    stream.pending_bytes = 0;
  }
  if (!stream.ended) return false;
  if (slot.chunks) outbox_.add(std::string("0\r\n\r\n"));
  stream.connection = nullptr;
  return true;
}

void Connection::cut_off() {
  ++core_.counts.cut_off;
  close(Gone::too_slow);
}

// --- Going on -----------------------------------------------------------------------------------

bool Connection::may_take() const {
  return !closed_ && !closing_ && !link_ && !undecided() &&
         slots_.size() < core_.settings.limits.pipelined && outbox_.bytes() < unwritten_at_most;
}

bool Connection::may_read() const {
  if (closed_ || ended_ || link_) return false;
  if (draining_ || may_take()) return true;
  return undecided() && (closing_ || input_.size() < held_behind_stream);
}

void Connection::advance() {
  if (busy_ || closed_ || (link_ && !transport_)) return;
  const auto self = shared_from_this();
  if (link_) return hand_over();
  flush_slots();
  if (!write_out()) return;
  if (closing_ && slots_.empty() && outbox_.empty()) {
    if (ended_) return close(Gone::left);
    if (!std::exchange(draining_, true)) transport_->end_writing();
  }
  arm();
  enter(phase());
  // Not here: whoever gave an answer does not expect to be asked for another one meanwhile.
  if (blocked_ && may_take()) on_ready_soon();
}

/// False when it failed.
bool Connection::write_out() {
  write_waits_readable_ = false;
  if (outbox_.empty()) return true;
  const std::size_t before = outbox_.bytes();
  const Progress progress = outbox_.flush(*transport_);
  if (outbox_.bytes() < before) phase_ = Phase::none;  // The time to write starts anew.
  write_waits_readable_ = progress.state == Progress::State::wait_readable;
  if (progress.done() || progress.waits()) return true;
  close(Gone::left);
  return false;
}

void Connection::arm() {
  const bool read = may_read();
  const bool write = !outbox_.empty();
  watch_.want((read && !read_waits_writable_) || (write && write_waits_readable_),
              (write && !write_waits_readable_) || (read && read_waits_writable_));
  // No readiness will tell of what was read already.
  if (read && transport_->buffered()) on_ready_soon();
}

Connection::Phase Connection::phase() const {
  if (!shaken_) return Phase::handshake;
  if (!outbox_.empty()) return Phase::writing;
  if (draining_) return Phase::draining;
  if (!slots_.empty()) return Phase::answering;
  if (!parser_) return Phase::idle;
  return parser_->stage() == Stage::head ? Phase::head : Phase::body;
}

void Connection::enter(Phase phase) {
  if (phase == phase_) return;
  phase_ = phase;
  const ServerLimits& limits = core_.settings.limits;
  switch (phase) {
    case Phase::none:
    case Phase::answering:
      deadline_ = Instant::max();
      return;
    case Phase::handshake:
      deadline_ = EventLoop::now() + limits.handshake;
      return;
    case Phase::idle:
      deadline_ = EventLoop::now() + limits.idle;
      return;
    case Phase::head:
      deadline_ = EventLoop::now() + limits.header;
      return;
    case Phase::body:
      deadline_ = EventLoop::now() + limits.body;
      return;
    case Phase::writing:
      deadline_ = EventLoop::now() + limits.write;
      return;
    case Phase::draining:
      deadline_ = EventLoop::now() + drain_time;
      return;
  }
}

void Connection::on_deadline() {
  const auto self = shared_from_this();
  if (closed_) return;
  if (phase_ == Phase::head) {
    refuse({408, "request_timeout", "the headers of the request did not come in time"});
  } else if (phase_ == Phase::body) {
    refuse({408, "request_timeout", "the body of the request did not come in time"});
  } else {
    return close(phase_ == Phase::writing ? Gone::too_slow : Gone::left);
  }
  advance();
}

void Connection::finish_up() {
  if (link_) return;  // Both ends agree on their end by themselves, within the grace.
  if (slots_.empty() && outbox_.empty()) return close(Gone::stopping);
  closing_ = true;
  forget_request();
  input_ = std::string();
  for (Slot& slot : slots_) {
    if (!slot.stream) continue;
    slot.stream->ended = true;
    slot.stream->leave(Gone::stopping);
  }
  advance();
}

void Connection::close(Gone why) {
  if (closed_) return;
  const auto self = shared_from_this();
  closed_ = true;
  forget_request();
  watch_ = Watch();
  for (Slot& slot : slots_) {
    if (slot.stream && slot.stream->connection != nullptr) slot.stream->leave(why);
  }
  slots_.clear();
  transport_.reset();
  if (link_) {
    link_->close(fail(Code::io, why == Gone::stopping ? "the server stops" : "it was closed"));
  }
  core_.remove(*this);
}

}  // namespace tutti::net
