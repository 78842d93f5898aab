/// The turns of a server, one after the other: what clients sent and what the backend reported is
/// made durable as one unit, applied, told to readers, answered, and then decided upon.
///
///   letters, reports ──► Engine::take ──► publish ──► answer ──► Engine::decide ──► publish
///
/// It knows no thread and no clock: a thread of a server takes turns (api/engine_thread.h), and so
/// do simulations, which end it at every step (tests/crash).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace tutti {

/// What became of each event sent together: an error where it was refused.
using Answers = std::vector<Result<void>>;
/// Something to be done where readers are.
using Work = std::move_only_function<void()>;

/// What a client sends: events, a question, or both.
struct Letter {
  std::vector<Event> events;
  std::move_only_function<void(Answers)> done;
  std::move_only_function<Work(const State&)> question;
  bool together = true;                            ///< All of its events or none.
  std::map<std::size_t, Error> refused_at_once{};  ///< By position: those not in `events` any more.
};

class Turns {
 public:
  /// What is said of an event that was fine, where one that came with it was not.
  static constexpr std::string_view refused_with_another = "another one of them was refused";

  /// All of it must outlive the turns.
  struct Ports {
    Engine* engine = nullptr;
    /// Runs its argument where readers are, in order.
    std::function<void(Work)> post;
    /// What happened since the last call goes to readers: before it is answered.
    std::function<void()> publish;
    std::function<std::vector<Event>()> take_reports;  ///< Of the backend; none: it has none.
    std::function<void(std::span<const Event>)> keep_reports;  ///< These are durable.
    std::function<Instant()> clock;  ///< May go back, which is evened out.
  };

  explicit Turns(Ports ports) : ports_(std::move(ports)) {}

  /// May a client send this? `before`: what comes first in the same letter. It is stricter than
  /// State: what could only wait for ever is accepted from a journal, but not taken in.
  static Result<void> admit(const State& state, const Event& event, std::span<const Event> before);

  /// The first half of a turn. The instant to decide at; none where nothing happened. (A process
  /// that died may not have decided what it had taken: who goes on for it sends something first,
  /// such as how its nodes are.) An error: the journal failed, nobody was answered, and no more can
  /// be promised.
  Result<std::optional<Instant>> take(std::vector<Letter> letters);
  /// The second.
  Result<void> decide(Instant now);

 private:
  bool turned_away(Letter& letter);
  void take_out_refused(Letter& letter);
  void answer(std::vector<Letter>& letters, const std::vector<Engine::Refused>& refused);

  Ports ports_;
};

}  // namespace tutti
