/// What is written down about an attempt: who it is, and how it ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "model/action.h"

namespace tutti {

/// One attempt at a task: what is started at most once.
struct AttemptId {
  TaskId task;
  std::uint32_t attempt = 0;
  friend auto operator<=>(const AttemptId&, const AttemptId&) = default;
};
/// "12.0.3": job, task, attempt; also the name of its folder.
std::string to_string(const AttemptId& id);
std::optional<AttemptId> attempt_of(std::string_view name);

/// The first process of a task. No other process ever has all three of these, so what bears the
/// number alone is left in peace.
struct TaskIdentity {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< Since the machine started.
  std::string boot;               ///< Which start of the machine that was.
  /// In the environment of every process of the task that did not clear its own.
  std::string mark;
  friend bool operator==(const TaskIdentity&, const TaskIdentity&) = default;
};

enum class EndCause : std::uint8_t {
  ended,              ///< By itself.
  stopped,            ///< As it was told to.
  time_limit,         ///< It ran for longer than it may.
  out_of_memory,      ///< The kernel killed it, as far as can be seen.
  keeper_killed,      ///< Its keeper was gone, so what it had left was killed.
  machine_restarted,  ///< It went with the machine.
  refused,            ///< It never began, and says why.
};
std::string_view to_text(EndCause cause);

/// How an attempt ended: its exit record.
struct TaskEnd {
  static constexpr int killed = 137;      ///< Exit code of what SIGKILL has ended.
  static constexpr int terminated = 143;  ///< Exit code of what did as it was told.

  EndCause cause = EndCause::ended;
  /// What it gave; 128 and its number for a signal. Never 0 for what was stopped.
  int exit_code = 0;
  int signal = 0;  ///< The one that ended its first process, or 0.
  bool core_dumped = false;
  bool began = false;  ///< It was executed.
  std::string reason;  ///< For people; empty where the rest says it all.

  Instant began_at;  ///< Time of day.
  Instant ended_at;
  Duration cpu;                  ///< User and system time of all of its processes.
  std::int64_t rss_max_kib = 0;  ///< Of the largest one.
  std::int64_t output_bytes = 0;
  std::int64_t dropped_bytes = 0;  ///< Could not be written.
  std::int64_t rotated_bytes = 0;  ///< Were written, and made way for newer ones.

  static TaskEnd refusal(std::string why) {
    return {.cause = EndCause::refused, .reason = std::move(why)};
  }
  friend bool operator==(const TaskEnd&, const TaskEnd&) = default;
};

std::string encode(const TaskIdentity& identity);
Result<TaskIdentity> decode_task_identity(std::string_view text);
std::string encode(const TaskEnd& end);
Result<TaskEnd> decode_task_end(std::string_view text);

}  // namespace tutti
