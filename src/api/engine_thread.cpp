#include "api/engine_thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "net/event_loop.h"

namespace tutti {
namespace {

/// Events of one batch: beyond it, answers would wait longer for their companions than for the
/// disk.
constexpr std::size_t batch_events = 4096;

}  // namespace

EngineThread::EngineThread(Ports ports)
    : ports_(std::move(ports)),
      turns_({.engine = ports_.engine,
              .post = ports_.post,
              .publish = [this] { publish(); },
              .take_reports = ports_.take_reports,
              .keep_reports = ports_.keep_reports,
              .clock = ports_.clock}) {
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CHECK(wake_ >= 0);
  ports_.engine->follow(&happenings_);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

EngineThread::~EngineThread() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
  thread_.join();
  ports_.engine->follow(nullptr);
  ::close(wake_);
}

void EngineThread::send(std::vector<Event> events, Done done) {
  put({.events = std::move(events), .done = std::move(done), .question = {}});
}

void EngineThread::send_each(std::vector<Event> events, Done done) {
  put({.events = std::move(events), .done = std::move(done), .question = {}, .together = false});
}

void EngineThread::ask(Question question) {
  put({.events = {}, .done = {}, .question = std::move(question)});
}

void EngineThread::put(Letter letter) {
  {
    const std::scoped_lock lock(mutex_);
    inbox_.push_back(std::move(letter));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

void EngineThread::wait() const {
  std::array<pollfd, 2> files{pollfd{.fd = wake_, .events = POLLIN, .revents = 0},
                              pollfd{.fd = ports_.reports_ready, .events = POLLIN, .revents = 0}};
  int most_ms = -1;
  if (const auto timer = ports_.engine->state().timers().next()) {
    // Rounded up: who wakes too early has nothing to do yet.
    const std::int64_t left = std::max<std::int64_t>((*timer - ports_.clock()).us, 0) / 1000 + 1;
    most_ms = static_cast<int>(std::min<std::int64_t>(left, 3'600'000));
  }
  ::poll(files.data(), files.size(), most_ms);  // A negative descriptor is left out.
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(wake_, &count, sizeof count);
}

void EngineThread::run(const std::stop_token& stop) {
  while (true) {
    const bool last = stop.stop_requested();
    std::vector<Letter> letters = next_letters();
    const bool idle = letters.empty();
    if (idle && last) return;
    if (!turn(std::move(letters))) return;
    if (idle) wait();
  }
}

std::vector<Letter> EngineThread::next_letters() {
  const std::scoped_lock lock(mutex_);
  std::size_t events = 0;
  auto end = inbox_.begin();
  while (end != inbox_.end() && events < batch_events) events += (end++)->events.size();
  std::vector<Letter> letters(std::move_iterator(inbox_.begin()), std::move_iterator(end));
  inbox_.erase(inbox_.begin(), end);
  return letters;
}

bool EngineThread::turn(std::vector<Letter> letters) {
  const auto taken = turns_.take(std::move(letters));
  if (!taken) return fail_with(taken.error());
  if (!*taken) return true;
  const Instant begin = net::EventLoop::now();
  const Result<void> decided = turns_.decide(**taken);
  cycles_.add(net::EventLoop::now() - begin);
  return decided ? true : fail_with(decided.error());
}

void EngineThread::publish() {
  std::vector<Happening> happened = happenings_.take();
  if (happened.empty()) return;
  // What is posted may run after this object is gone.
  ports_.post([publish = ports_.publish, happened = std::move(happened)]() mutable {
    publish(std::move(happened));
  });
}

bool EngineThread::fail_with(const Error& error) {
  ports_.post([failed = ports_.failed, error] { failed(error); });
  return false;
}

}  // namespace tutti
