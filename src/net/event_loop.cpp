// The only file that knows Asio.
#include "net/event_loop.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"
#include "net/descriptor.h"

namespace tutti::net {
namespace {

namespace asio = boost::asio;
using Executor = asio::io_context::executor_type;
using Wait = asio::posix::descriptor_base;
using Resolver = asio::ip::basic_resolver<asio::ip::tcp, Executor>;

}  // namespace

// --- Timer --------------------------------------------------------------------------------------

struct Timer::State {
  State(asio::io_context& io, EventLoop::Task what) : timer(io), task(std::move(what)) {}

  asio::basic_waitable_timer<std::chrono::steady_clock,
                             asio::wait_traits<std::chrono::steady_clock>, Executor>
      timer;
  EventLoop::Task task;
  bool waiting = true;
};

Timer::Timer(std::shared_ptr<State> state) : state_(std::move(state)) {}
Timer::Timer(Timer&&) noexcept = default;
Timer& Timer::operator=(Timer&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Timer::~Timer() {
  if (!state_) return;
  state_->waiting = false;
  state_->timer.cancel();
}

bool Timer::waiting() const { return state_ && state_->waiting; }

// --- Watch --------------------------------------------------------------------------------------

struct Watch::State : std::enable_shared_from_this<State> {
  State(asio::io_context& io, EventLoop::Task what) : descriptor(io), ready(std::move(what)) {}

  void want(bool readable, bool writable) {
    if (epoll.valid()) {
      epoll_event event{.events = (readable ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U),
                        .data = {}};
      ::epoll_ctl(epoll.get(), EPOLL_CTL_MOD, behind, &event);
      readable = readable || writable;
      writable = false;
    }
    want_readable = readable;
    want_writable = writable;
    arm();
  }

  void arm() {
    if (closed) return;
    if (want_readable && !awaits_readable) wait_for(Wait::wait_read, awaits_readable);
    if (want_writable && !awaits_writable) wait_for(Wait::wait_write, awaits_writable);
  }

  void wait_for(Wait::wait_type type, bool& awaits) {
    awaits = true;
    descriptor.async_wait(type, [self = shared_from_this(), type](const auto& error) {
      self->came(type, static_cast<bool>(error));
    });
  }

  void came(Wait::wait_type type, bool cancelled) {
    (type == Wait::wait_read ? awaits_readable : awaits_writable) = false;
    if (closed || cancelled) return;
    if (type == Wait::wait_read ? want_readable : want_writable) ready();
    arm();
  }

  asio::posix::basic_stream_descriptor<Executor> descriptor;
  Descriptor epoll;  ///< Stands for a descriptor whose flags must not change, `behind`.
  int behind = -1;
  EventLoop::Task ready;
  bool want_readable = false;
  bool want_writable = false;
  bool awaits_readable = false;
  bool awaits_writable = false;
  bool closed = false;
};

Watch::Watch(std::shared_ptr<State> state) : state_(std::move(state)) {}
Watch::Watch(Watch&&) noexcept = default;
Watch& Watch::operator=(Watch&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Watch::~Watch() {
  if (!state_) return;
  state_->closed = true;
  state_->descriptor.release();  // What waits ends; the descriptor stays open.
}

void Watch::want(bool readable, bool writable) {
  CHECK(state_ != nullptr);
  state_->want(readable, writable);
}

// --- EventLoop ----------------------------------------------------------------------------------

struct EventLoop::State {
  void run_tasks() {
    for (Task& task : take_tasks()) task();
  }
  std::vector<Task> take_tasks() {
    const std::scoped_lock lock(mutex);
    return std::exchange(tasks, {});
  }

  asio::io_context io{1};
  asio::executor_work_guard<Executor> work{io.get_executor()};
  std::optional<Resolver> resolver;
  Descriptor stop{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Watch stop_watch;
  std::atomic<std::thread::id> thread;
  std::mutex mutex;
  std::vector<Task> tasks;  ///< Posted, not yet run.
};

EventLoop::EventLoop() : state_(std::make_unique<State>()) {
  CHECK(state_->stop.valid(), errno);
  auto watch = this->watch(state_->stop.get(), [state = state_.get()] {
    std::uint64_t count = 0;
    if (::read(state->stop.get(), &count, sizeof count) == sizeof count) state->io.stop();
  });
  CHECK(watch.has_value(), watch.error().what);
  state_->stop_watch = *std::move(watch);
  state_->stop_watch.want(/*readable=*/true, /*writable=*/false);
}

EventLoop::~EventLoop() = default;

void EventLoop::run() {
  state_->thread = std::this_thread::get_id();
  state_->io.run();
  state_->io.restart();
  state_->thread = std::thread::id();
}

void EventLoop::stop() {
  const std::uint64_t one = 1;
  // It fails only when it is full of such calls already.
  if (::write(state_->stop.get(), &one, sizeof one) < 0) return;
}

void EventLoop::post(Task task) {
  // Asio alone would let a task of another thread overtake those that the loop's own has posted.
  bool first = false;
  {
    const std::scoped_lock lock(state_->mutex);
    first = state_->tasks.empty();
    state_->tasks.push_back(std::move(task));
  }
  if (first) asio::post(state_->io, [state = state_.get()] { state->run_tasks(); });
}

bool EventLoop::here() const {
  const std::thread::id runs = state_->thread;
  return runs == std::thread::id() || runs == std::this_thread::get_id();
}

Instant EventLoop::now() {
  return {std::chrono::duration_cast<std::chrono::microseconds>(
              std::chrono::steady_clock::now().time_since_epoch())
              .count()};
}

Timer EventLoop::after(Duration delay, Task task) {
  auto timer = std::make_shared<Timer::State>(state_->io, std::move(task));
  timer->timer.expires_after(std::chrono::microseconds(delay.us));
  timer->timer.async_wait([timer](const auto&) {
    if (!std::exchange(timer->waiting, false)) return;
    timer->task();
  });
  return Timer(std::move(timer));
}

Result<Watch> EventLoop::watch(int descriptor, Task ready) {
  auto state = std::make_shared<Watch::State>(state_->io, std::move(ready));
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags >= 0 && (flags & O_NONBLOCK) == 0) {
    // Asio would make it non-blocking for everybody who shares it, such as a terminal's shell.
    state->epoll = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{.events = 0, .data = {}};
    if (::epoll_ctl(state->epoll.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
      return fail(system_error("watch", "a descriptor", errno));
    }
    state->behind = std::exchange(descriptor, state->epoll.get());
  }
  boost::system::error_code error;
  if (state->descriptor.assign(descriptor, error)) {
    return fail(system_error("watch", "a descriptor", error.value()));
  }
  return Watch(std::move(state));
}

void EventLoop::resolve(std::string_view host, std::uint16_t port, Resolved done) {
  if (!state_->resolver) state_->resolver.emplace(state_->io);
  state_->resolver->async_resolve(
      std::string(host), std::to_string(port),
      [done = std::move(done), host = std::string(host)](const auto& error,
                                                         const auto& found) mutable {
        if (error) {
          return done(fail({.code = Code::not_found,
                            .what = "no host of this name is known: " + error.message(),
                            .where = host,
                            .hint = "check how it is spelled, or give an IP address"}));
        }
        std::vector<IpAddress> addresses;
        for (const auto& one : found) {
          const asio::ip::tcp::endpoint to = one.endpoint();
          IpAddress address{.bytes = {}, .port = to.port()};
          if (to.address().is_v4()) {
            const auto bytes = to.address().to_v4().to_bytes();
            address.bytes.assign(bytes.begin(), bytes.end());
          } else {
            const auto bytes = to.address().to_v6().to_bytes();
            address.bytes.assign(bytes.begin(), bytes.end());
          }
          addresses.push_back(std::move(address));
        }
        done(std::move(addresses));
      });
}

}  // namespace tutti::net
