#include "net/transport.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace tutti::net {
namespace {

constexpr std::size_t pieces_at_once = 64;
constexpr std::size_t join_below = 4096;

class SocketTransport final : public Transport {
 public:
  explicit SocketTransport(Descriptor socket) : socket_(std::move(socket)) {}

  int descriptor() const override { return socket_.get(); }

  Progress read(std::span<char> to) override {
    for (;;) {
      const ssize_t bytes = ::recv(socket_.get(), to.data(), to.size(), 0);
      if (bytes > 0) return {.bytes = static_cast<std::size_t>(bytes)};
      if (bytes == 0) return {.state = Progress::State::ended};
      if (errno == EINTR) continue;
      return stopped(Progress::State::wait_readable);
    }
  }

  Progress write(std::span<const iovec> from) override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(from.data());  // sendmsg only reads it.
    message.msg_iovlen = from.size();
    for (;;) {
      const ssize_t bytes = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
      if (bytes >= 0) return {.bytes = static_cast<std::size_t>(bytes)};
      if (errno == EINTR) continue;
      return stopped(Progress::State::wait_writable);
    }
  }

  void end_writing() override { ::shutdown(socket_.get(), SHUT_WR); }

  Error error() const override {
    return {.code = Code::io, .what = std::generic_category().message(error_)};
  }

 private:
  Progress stopped(Progress::State waits) {
    error_ = errno;
    if (error_ == EAGAIN || error_ == EWOULDBLOCK) return {.state = waits};
    return {.state = Progress::State::failed};
  }

  Descriptor socket_;
  int error_ = 0;
};

}  // namespace

std::unique_ptr<Transport> socket_transport(Descriptor socket) {
  return std::make_unique<SocketTransport>(std::move(socket));
}

void Outbox::add(std::string bytes) {
  if (bytes.empty()) return;
  bytes_ += bytes.size();
  if (!pieces_.empty() && !pieces_.back().shared && bytes.size() < join_below &&
      pieces_.back().own.size() < join_below) {
    pieces_.back().own += bytes;
  } else {
    pieces_.push_back({.own = std::move(bytes), .shared = nullptr});
  }
}

void Outbox::add(std::shared_ptr<const std::string> bytes) {
  if (bytes->empty()) return;
  bytes_ += bytes->size();
  pieces_.push_back({.own = {}, .shared = std::move(bytes)});
}

Progress Outbox::flush(Transport& to) {
  while (!empty()) {
    std::array<iovec, pieces_at_once> parts;
    std::size_t count = 0;
    std::size_t offset = offset_;
    for (std::size_t at = first_; at < pieces_.size() && count < parts.size(); ++at) {
      const std::string_view text = pieces_[at].text().substr(std::exchange(offset, 0));
      parts[count++] = {.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
    }
    const Progress progress = to.write({parts.data(), count});
    if (!progress.done()) return progress;
    written(progress.bytes);
  }
  return {};
}

void Outbox::written(std::size_t bytes) {
  bytes_ -= bytes;
  offset_ += bytes;
  while (first_ < pieces_.size() && offset_ >= pieces_[first_].text().size()) {
    offset_ -= pieces_[first_].text().size();
    pieces_[first_++] = {};
  }
  if (empty()) {
    pieces_ = {};  // An idle connection holds no memory.
    first_ = 0;
  } else if (first_ > pieces_.size() / 2) {
    pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

}  // namespace tutti::net
