#include "engine/turns.h"

#include <algorithm>
#include <utility>

#include "sched/within_limits.h"

namespace tutti {

Result<std::optional<Instant>> Turns::take(std::vector<Letter> letters) {
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
    return std::nullopt;
  }
  const auto refused = TRY(engine.take(inbox, now));
  if (!reports.empty() && ports_.keep_reports) ports_.keep_reports(reports);
  ports_.publish();
  answer(letters, refused);
  return now;
}

Result<void> Turns::decide(Instant now) {
  TRY(ports_.engine->decide(now));
  ports_.publish();
  return {};
}

Result<void> Turns::admit(const State& state, const Event& event, std::span<const Event> before) {
  TRY(state.admissible(event, before));
  const auto* const submitted = std::get_if<JobSubmitted>(&event);
  if (submitted == nullptr) return {};
  return within_limits(state, *submitted->spec);
}

/// All of a letter or nothing: what is refused is not even journaled.
bool Turns::turned_away(Letter& letter) {
  const State& state = ports_.engine->state();
  for (std::size_t at = 0; at < letter.events.size(); ++at) {
    auto admitted = admit(state, letter.events[at], std::span(letter.events).first(at));
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

void Turns::take_out_refused(Letter& letter) {
  std::vector<Event> admitted;
  for (std::size_t at = 0; at < letter.events.size(); ++at) {
    auto good = admit(ports_.engine->state(), letter.events[at], {});
    if (good) {
      admitted.push_back(std::move(letter.events[at]));
    } else {
      letter.refused_at_once.emplace(at, std::move(good).error());
    }
  }
  letter.events = std::move(admitted);
}

void Turns::answer(std::vector<Letter>& letters, const std::vector<Engine::Refused>& refused) {
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

}  // namespace tutti
