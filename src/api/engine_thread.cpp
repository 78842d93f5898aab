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

EngineThread::EngineThread(Ports ports) : ports_(std::move(ports)) {
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

std::vector<EngineThread::Letter> EngineThread::next_letters() {
  const std::scoped_lock lock(mutex_);
  std::size_t events = 0;
  auto end = inbox_.begin();
  while (end != inbox_.end() && events < batch_events) events += (end++)->events.size();
  std::vector<Letter> letters(std::move_iterator(inbox_.begin()), std::move_iterator(end));
  inbox_.erase(inbox_.begin(), end);
  return letters;
}

bool EngineThread::turn(std::vector<Letter> letters) {
  Engine& engine = *ports_.engine;
  std::vector<Event> inbox;
  for (Letter& letter : letters) {
    if (letter.question) ports_.post(letter.question(engine.state()));
    if (!letter.together) take_out_refused(letter);
    if (letter.together && turned_away(letter)) continue;
    for (Event& event : letter.events) inbox.push_back(std::move(event));
  }
  std::vector<Event> reports;
  if (ports_.take_reports) reports = ports_.take_reports();
  inbox.insert(inbox.end(), reports.begin(), reports.end());
  const Instant now = std::max(ports_.clock(), engine.state().now());
  const auto timer = engine.state().timers().next();
  if (inbox.empty() && (!timer || *timer > now)) {
    answer(letters, {});
    return true;
  }
  auto refused = engine.take(inbox, now);
  if (!refused) return fail_with(refused.error());
  if (!reports.empty() && ports_.keep_reports) ports_.keep_reports(reports);
  publish();
  answer(letters, *refused);
  const Instant begin = net::EventLoop::now();
  const auto plan = engine.decide(now);
  cycles_.add(net::EventLoop::now() - begin);
  if (!plan) return fail_with(plan.error());
  publish();
  return true;
}

/// All of a letter or nothing: what State refuses is not even journaled.
bool EngineThread::turned_away(Letter& letter) {
  const State& state = ports_.engine->state();
  for (std::size_t at = 0; at < letter.events.size(); ++at) {
    auto admitted = state.admissible(letter.events[at], std::span(letter.events).first(at));
    if (admitted) continue;
    Answers answers(letter.events.size(), fail(Code::conflict, std::string(refused_with_another)));
    answers[at] = fail(std::move(admitted).error());
    letter.events.clear();
    if (!letter.done) return true;
    ports_.post([done = std::move(letter.done), answers = std::move(answers)]() mutable {
      done(std::move(answers));
    });
    return true;
  }
  return false;
}

void EngineThread::take_out_refused(Letter& letter) {
  std::vector<Event> admitted;
  for (std::size_t at = 0; at < letter.events.size(); ++at) {
    auto good = ports_.engine->state().admissible(letter.events[at]);
    if (good) {
      admitted.push_back(std::move(letter.events[at]));
    } else {
      letter.refused_at_once.emplace(at, std::move(good).error());
    }
  }
  letter.events = std::move(admitted);
}

void EngineThread::publish() {
  std::vector<Happening> happened = happenings_.take();
  if (happened.empty()) return;
  // What is posted may run after this object is gone.
  ports_.post([publish = ports_.publish, happened = std::move(happened)]() mutable {
    publish(std::move(happened));
  });
}

void EngineThread::answer(std::vector<Letter>& letters,
                          const std::vector<Engine::Refused>& refused) {
  std::size_t first = 0;
  auto next = refused.begin();
  for (Letter& letter : letters) {
    Answers answers(letter.events.size());
    for (; next != refused.end() && next->event < first + answers.size(); ++next) {
      answers[next->event - first] = fail(next->why);
    }
    first += answers.size();
    for (auto& [at, why] : letter.refused_at_once) {  // By position, so each finds its place.
      answers.insert(answers.begin() + static_cast<std::ptrdiff_t>(at), fail(std::move(why)));
    }
    if (!letter.done) continue;
    ports_.post([done = std::move(letter.done), answers = std::move(answers)]() mutable {
      done(std::move(answers));
    });
  }
}

bool EngineThread::fail_with(const Error& error) {
  ports_.post([failed = ports_.failed, error] { failed(error); });
  return false;
}

}  // namespace tutti
