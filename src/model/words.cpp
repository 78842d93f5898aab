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
      "mix_set",        "job_held"};
  return words[event.index()];
}

std::uint16_t tag_of(const Event& event) {
  return std::visit([](const auto& alternative) { return alternative.tag; }, event);
}

}  // namespace tutti
