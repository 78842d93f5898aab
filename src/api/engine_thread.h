/// The thread that owns the engine and takes its turns (engine/turns.h) with what came in.
///
/// While one batch waits for the disk the next one gathers, so that many clients share one wait.
/// Nothing is shared with other threads but the inbox; what happened goes to them as values.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "api/happening.h"
#include "api/metrics.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/turns.h"

namespace tutti {

class EngineThread {
 public:
  using Work = tutti::Work;
  using Answers = tutti::Answers;

  /// What the thread needs from outside; all of it must outlive the thread.
  struct Ports {
    Engine* engine = nullptr;
    /// Runs its argument on the readers' thread, in order. Called from any thread.
    std::function<void(Work)> post;
    /// On the readers' thread, in order: what happened, before it is answered.
    std::function<void(std::vector<Happening>)> publish;
    /// Reports of the backend: readable when there are some, and what they are. -1: it has none.
    int reports_ready = -1;
    std::function<std::vector<Event>()> take_reports;
    /// These are durable.
    std::function<void(std::span<const Event>)> keep_reports;
    /// Microseconds since the epoch; may go back, which the thread evens out.
    std::function<Instant()> clock;
    /// The journal failed: no more can be promised, and the server must end. On that thread.
    std::function<void(const Error&)> failed;
  };

  explicit EngineThread(Ports ports);
  /// Finishes what was sent.
  ~EngineThread();

  using Done = std::move_only_function<void(Answers)>;
  /// The events are durable, or refused, when `done` runs on the readers' thread. Where one of them
  /// is not admissible, all are refused.
  void send(std::vector<Event> events, Done done);
  /// The same, but each event stands for itself: what is not admissible concerns no other.
  void send_each(std::vector<Event> events, Done done);

  /// A question that needs State: `ask` runs between two turns on the engine's thread, and what it
  /// returns on the readers'. For questions of milliseconds.
  using Question = std::move_only_function<Work(const State&)>;
  void ask(Question question);
  /// How long they took. On the engine's thread only: within a question.
  const Histogram& cycles() const { return cycles_; }

 private:
  void put(Letter letter);
  void run(const std::stop_token& stop);
  std::vector<Letter> next_letters();
  void wait() const;
  /// One turn; false when the journal failed.
  bool turn(std::vector<Letter> letters);
  void publish();
  bool fail_with(const Error& error);

  Ports ports_;
  Turns turns_;
  Happenings happenings_;
  Histogram cycles_;
  int wake_ = -1;  ///< An eventfd: somebody put something into the inbox.
  std::mutex mutex_;
  std::vector<Letter> inbox_;  ///< Guarded by mutex_.
  std::jthread thread_;        ///< Last: it uses all of the above.
};

}  // namespace tutti
