#include "net/duplex.h"

#include <array>

#include "base/check.h"
#include "net/duplex_link.h"

namespace tutti::net {
namespace {

constexpr int frames_at_once = 16;
/// How long the rest is written after the Duplex is gone, and what comes is thrown away.
constexpr Duration linger_time = Duration::seconds(5);

}  // namespace

// --- Duplex -------------------------------------------------------------------------------------

Duplex& Duplex::operator=(Duplex&& other) noexcept {
  std::swap(link_, other.link_);
  return *this;
}

Duplex::~Duplex() {
  if (link_) link_->let_go();
}

void Duplex::start(OnBytes on_bytes, OnEnd on_end) {
  if (link_) link_->start(std::move(on_bytes), std::move(on_end));
}
bool Duplex::write(std::string bytes) { return link_ && link_->write(std::move(bytes)); }
std::size_t Duplex::queued() const { return link_ ? link_->queued() : 0; }
void Duplex::on_written(std::move_only_function<void()> call) {
  if (link_) link_->on_written(std::move(call));
}
void Duplex::hold(bool held) {
  if (link_) link_->hold(held);
}
void Duplex::end_writing() {
  if (link_) link_->end_writing();
}
bool Duplex::open() const { return link_ && link_->open(); }

// --- DuplexLink ---------------------------------------------------------------------------------

void DuplexLink::attach(std::unique_ptr<Transport> transport, Outbox first, std::string read) {
  CHECK(transport_ == nullptr);
  transport_ = std::move(transport);
  outbox_ = std::move(first);
  outbox_.add(std::exchange(early_, {}));
  read_ = std::move(read);
  auto watch = loop_.watch(transport_->descriptor(), [this] { on_ready(); });
  if (!watch) return close(fail(std::move(watch).error()));
  watch_ = *std::move(watch);
  advance();
}

void DuplexLink::start(Duplex::OnBytes on_bytes, Duplex::OnEnd on_end) {
  CHECK(!started_);
  started_ = true;
  on_bytes_ = std::move(on_bytes);
  on_end_ = std::move(on_end);
  loop_.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_ready();
  });
}

bool DuplexLink::write(std::string bytes) {
  if (!open()) return false;
  if (transport_) {
    outbox_.add(std::move(bytes));
    advance();
  } else {
    early_ += bytes;
  }
  return !closed_;
}

void DuplexLink::hold(bool held) {
  held_ = held;
  if (!held && started_) {
    loop_.post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->on_ready();
    });
  }
}

void DuplexLink::end_writing() {
  ending_ = true;
  advance();
}

void DuplexLink::let_go() {
  orphan_ = ending_ = true;
  if (!closed_) linger_ = loop_.after(linger_time, [this] { close({}); });
  advance();
}

void DuplexLink::on_ready() {
  const auto self = shared_from_this();
  if (closed_ || !transport_) return;
  busy_ = true;
  if (started_ && !read_.empty() && !held_) deliver(std::exchange(read_, {}));
  read_some();
  busy_ = false;
  advance();
}

void DuplexLink::read_some() {
  read_waits_writable_ = false;
  std::array<char, 16 << 10U> buffer;
  for (int turn = 0; turn < frames_at_once; ++turn) {
    if (closed_ || ended_ || (!orphan_ && (held_ || !started_))) return;
    const Progress progress = transport_->read(buffer);
    switch (progress.state) {
      case Progress::State::done:
        deliver({buffer.data(), progress.bytes});
        break;
      case Progress::State::wait_readable:
        return;
      case Progress::State::wait_writable:
        read_waits_writable_ = true;
        return;
      case Progress::State::ended:
        ended_ = true;
        return end({});
      case Progress::State::failed:
        return close(fail(transport_->error()));
    }
  }
}

void DuplexLink::deliver(std::string_view bytes) {
  if (!orphan_ && on_bytes_) on_bytes_(bytes);
}

/// Writes what can be written, and then waits for what cannot.
void DuplexLink::advance() {
  if (busy_ || closed_ || !transport_) return;
  const auto self = shared_from_this();
  write_out();
  if (closed_) return;
  if (ending_ && !end_sent_ && outbox_.empty()) {
    transport_->end_writing();
    end_sent_ = true;
  }
  if (end_sent_ && ended_) return close({});
  const bool read = !ended_ && (orphan_ || (started_ && !held_));
  const bool write = !outbox_.empty();
  watch_.want((read && !read_waits_writable_) || (write && write_waits_readable_),
              (write && !write_waits_readable_) || (read && read_waits_writable_));
  if (!read || !transport_->buffered()) return;
  loop_.post([weak = weak_from_this()] {  // No readiness will tell of what was read already.
    if (const auto same = weak.lock()) same->on_ready();
  });
}

void DuplexLink::write_out() {
  write_waits_readable_ = false;
  if (outbox_.empty()) return;
  const Progress progress = outbox_.flush(*transport_);
  write_waits_readable_ = progress.state == Progress::State::wait_readable;
  if (!progress.done() && !progress.waits()) return close(fail(transport_->error()));
  if (!progress.done() || orphan_ || !on_written_) return;
  loop_.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !self->orphan_ && self->on_written_ && self->outbox_.empty()) self->on_written_();
  });
}

/// Not at once: whoever writes does not expect to be called meanwhile.
void DuplexLink::end(Result<void> why) {
  if (orphan_ || !on_end_) return;
  loop_.post([self = shared_from_this(), call = std::exchange(on_end_, nullptr),
              why = std::move(why)]() mutable {
    if (!self->orphan_) call(std::move(why));
  });
}

void DuplexLink::close(Result<void> why) {
  if (closed_) return;
  const auto self = shared_from_this();
  closed_ = true;
  watch_ = Watch();
  linger_ = Timer();
  transport_.reset();
  end(std::move(why));
  if (released_) std::exchange(released_, nullptr)();
}

}  // namespace tutti::net
