#include "net/answer.h"

#include <utility>

#include "base/check.h"
#include "net/connection.h"
#include "net/event_loop.h"

namespace tutti::net {

// --- OpenStream ---------------------------------------------------------------------------------

OpenStream& OpenStream::operator=(OpenStream&& other) noexcept {
  if (this != &other) {
    finish();
    state_ = std::move(other.state_);
  }
  return *this;
}

bool OpenStream::push(std::shared_ptr<const std::string> chunk) {
  if (!open()) return false;
  const std::size_t waiting = queued();
  const std::size_t limit = state_->connection->core().settings.limits.stream_bytes;
  if (waiting > 0 && waiting + chunk->size() > limit) {
    state_->connection->cut_off();
    return false;
  }
  if (chunk->empty()) return true;
  state_->pending_bytes += chunk->size();
  state_->pending.push_back(std::move(chunk));
  state_->connection->core().write_soon(state_);
  return open();
}

bool OpenStream::push(std::string chunk) {
  return open() && push(std::make_shared<const std::string>(std::move(chunk)));
}

void OpenStream::finish() {
  const std::shared_ptr<StreamState> state = std::exchange(state_, nullptr);
  if (!state) return;
  state->ended = true;
  state->on_gone = nullptr;
  if (state->connection != nullptr) state->connection->advance();
}

bool OpenStream::open() const { return state_ && state_->connection != nullptr; }

std::size_t OpenStream::queued() const {
  return open() ? state_->pending_bytes + state_->connection->unwritten() : 0;
}

void OpenStream::on_gone(OnGone call) {
  CHECK(state_ != nullptr);
  state_->on_gone = std::move(call);
  if (!open()) state_->leave(state_->gone);
}

void StreamState::leave(Gone why) {
  connection = nullptr;
  gone = why;
  if (!on_gone) return;
  loop->post([call = std::exchange(on_gone, nullptr), why]() mutable { call(why); });
}

// --- Answer -------------------------------------------------------------------------------------

Answer& Answer::operator=(Answer&& other) noexcept {
  std::swap(loop_, other.loop_);
  std::swap(connection_, other.connection_);
  std::swap(number_, other.number_);
  return *this;
}

Answer::~Answer() {
  if (loop_ == nullptr || connection_.expired()) return;  // The loop may be gone as well.
  const auto forgotten = [number = number_](const std::weak_ptr<Connection>& to) {
    const auto connection = to.lock();
    if (!connection) return;
    connection->answer(number, error_response(500, "internal", "the server gave no answer"));
  };
  if (loop_->here()) {
    forgotten(connection_);
  } else {
    loop_->post([forgotten, to = std::move(connection_)] { forgotten(to); });
  }
}

EventLoop& Answer::settle() {
  CHECK(loop_ != nullptr, "one answer only");
  return *std::exchange(loop_, nullptr);
}

void Answer::send(Response response) {
  settle();
  if (const auto connection = connection_.lock()) connection->answer(number_, std::move(response));
}

OpenStream Answer::stream(Response head) {
  EventLoop& loop = settle();
  if (const auto connection = connection_.lock()) {
    return connection->open_stream(number_, std::move(head));
  }
  auto state = std::make_shared<StreamState>();
  state->loop = &loop;
  return OpenStream(std::move(state));
}

Duplex Answer::upgrade(std::string_view protocol, const Headers& headers) {
  settle();
  const auto connection = connection_.lock();
  return connection ? connection->upgrade(number_, protocol, headers) : Duplex();
}

bool Answer::gone() const { return connection_.expired(); }

}  // namespace tutti::net
