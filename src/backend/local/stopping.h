/// When which signal is due to a task that is to end. It sends nothing and knows no clock.
///
/// Invariant: signals only get harder, and SIGKILL comes again and again, because a process that
/// was born meanwhile has not got the one before.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <optional>

#include "backend/local/launch_order.h"
#include "backend/local/task_records.h"

namespace tutti {

class Stopping {
 public:
  Stopping() = default;
  explicit Stopping(const StopSteps& steps) : steps_(steps) {}

  /// The first reason to stop is the one that counts.
  void begin(EndCause cause) {
    if (!cause_) cause_ = cause;
  }
  bool begun() const { return cause_.has_value(); }
  /// REQUIRES: begun().
  EndCause cause() const { return *cause_; }

  struct Signal {
    int number = 0;
    bool to_all = true;  ///< Else to the first process alone.
  };
  /// The signal that is due, if any; to be asked again at `next`.
  std::optional<Signal> due(Instant now) {
    if (!begun() || now < next_) return std::nullopt;
    if (stage_ == Stage::running && steps_.checkpoint_signal != 0) {
      return enter(Stage::checkpoint, now + steps_.checkpoint_grace, steps_.checkpoint_signal);
    }
    if (stage_ < Stage::term) return enter(Stage::term, now + steps_.term_grace, SIGTERM);
    if (stage_ == Stage::kill) pause_ = std::min(pause_ + pause_, pause_max);
    return enter(Stage::kill, now + pause_, SIGKILL);
  }
  Instant next() const { return begun() ? next_ : Instant::max(); }

 private:
  enum class Stage : std::uint8_t { running, checkpoint, term, kill };
  static constexpr Duration pause_max = Duration::milliseconds(200);

  Signal enter(Stage stage, Instant next, int signal) {
    stage_ = stage;
    next_ = next;
    return {.number = signal, .to_all = stage != Stage::checkpoint};
  }

  StopSteps steps_;
  std::optional<EndCause> cause_;
  Stage stage_ = Stage::running;
  Instant next_{};
  Duration pause_ = Duration::milliseconds(2);
};

}  // namespace tutti
