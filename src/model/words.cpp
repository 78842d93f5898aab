/// The words of the model's enumerations: the same in code, journals, CLI and API.
#include <array>

#include "model/action.h"
#include "model/event.h"
#include "model/job.h"
#include "model/shape.h"

namespace tutti {

std::string_view to_text(TaskPhase phase) {
  constexpr std::array<std::string_view, 7> words{"pending",   "assigned", "running",  "stopping",
                                                  "succeeded", "failed",   "cancelled"};
  return words[static_cast<std::size_t>(phase)];
}

std::string_view to_text(TaintEffect effect) {
  constexpr std::array<std::string_view, 3> words{"no_schedule", "prefer_no_schedule",
                                                  "no_execute"};
  return words[static_cast<std::size_t>(effect)];
}

std::string_view to_text(ExitCause cause) {
  constexpr std::array<std::string_view, 4> words{"exited", "signalled", "out_of_memory", "lost"};
  return words[static_cast<std::size_t>(cause)];
}

std::string_view to_text(JobEnd end) {
  constexpr std::array<std::string_view, 3> words{"succeeded", "failed", "cancelled"};
  return words[static_cast<std::size_t>(end)];
}

std::string_view to_text(Dependency::On on) {
  constexpr std::array<std::string_view, 4> words{"success", "failure", "end", "start"};
  return words[static_cast<std::size_t>(on)];
}

std::string_view to_text(GangRule::When when) {
  constexpr std::array<std::string_view, 4> words{"task_failed", "task_evicted", "role_succeeded",
                                                  "any"};
  return words[static_cast<std::size_t>(when)];
}

std::string_view to_text(GangRule::Then then) {
  constexpr std::array<std::string_view, 4> words{"restart_task", "restart_gang", "stop",
                                                  "complete"};
  return words[static_cast<std::size_t>(then)];
}

std::string_view to_text(Attended attended) {
  constexpr std::array<std::string_view, 3> words{"no", "terminal", "pipes"};
  return words[static_cast<std::size_t>(attended)];
}

std::string_view to_text(ActionKind kind) {
  constexpr std::array<std::string_view, 6> words{"prepare", "place",     "evict",
                                                  "reserve", "partition", "scale"};
  return words[static_cast<std::size_t>(kind)];
}

std::string to_string(const TaskId& id) {
  return to_string(id.job) + "." + std::to_string(id.ordinal);
}

std::string_view name_of(const Event& event) {
  constexpr std::array<std::string_view, std::variant_size_v<Event>> words{
      "node_reported",  "node_lost",    "node_cordoned", "device_health_changed",
      "trees_declared", "queue_set",    "job_submitted", "job_cancelled",
      "plan_decided",   "task_started", "task_exited",   "task_refused",
      "mix_set",        "job_held",     "time_passed",   "task_bound"};
  return words[event.index()];
}

std::uint16_t tag_of(const Event& event) {
  return std::visit([](const auto& alternative) { return alternative.tag; }, event);
}

}  // namespace tutti
