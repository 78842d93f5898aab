/// Paths of the engine that are taken seldom, each with a name, so that a test run can say how
/// often it took them and fail where it never did.
///
/// What a cycle does is counted by the workspace, on the path itself and nowhere else: the common
/// case pays nothing. What happens to State is seen from outside (sim/witness.h), because State
/// remembers nothing that its events do not say. No decision reads these counts.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/counts.h"

namespace tutti {

enum class RarePath : std::uint8_t {
  // Counted by the workspace.
  domain_revised,           ///< A group left its domain again: a later group found no place.
  attempts_spent,           ///< The quick search had tried as many domains as it may.
  choosiest_first,          ///< Another order of its roles found places for a gang.
  exact_found,              ///< The exact search found places that the quick one had missed.
  exact_none,               ///< It proved that there are none.
  exact_gave_up,            ///< It used up its units.
  exact_too_large,          ///< The gang has too many tasks for it.
  wish_given_up,            ///< A gang got places, but not as near as it wished.
  started_without_minimum,  ///< A gang that lacked nothing started with any one task more.
  limit_held_gang,          ///< A queue's limit held a whole gang back.
  limit_refused_task,       ///< A queue's limit refused an alternative, or one more task.
  company_awaited,          ///< A gang sleeps until others come near or go.
  cycle_repeated,           ///< A cycle placed what an earlier one of the step had opened.
  gang_grew,                ///< An elastic gang that runs got more tasks.
  gang_mended,              ///< A gang got back the members that it had lost.
  gang_given_up,            ///< It did not, and what was left of it was stopped.
  rest_stopped,             ///< What still ran of a cancelled job was stopped.
  offers_spent,             ///< Filters refused the best nodes one by one: all were scanned.
  tallies_recounted,        ///< A description changed: running tasks were counted again.
  class_evicted,            ///< There were more classes than are kept.
  log_outrun,               ///< The change log did not reach back: all was built anew.
  node_drained,             ///< Tasks were stopped because their node is to be empty.
  // Seen from outside.
  report_outdated,       ///< A report about an older attempt than the present one.
  report_repeated,       ///< A report of what State knew already.
  report_of_forgotten,   ///< A report about a job that State has forgotten.
  exit_before_start,     ///< The end of a task was heard, its start was not.
  ended_while_stopping,  ///< A task that was told to stop ended well before.
  refused_placed_again,  ///< What was refused got another place at once.
  cancelled_at_launch,   ///< A job was cancelled while the backend was starting it.
  device_lost_in_use,    ///< A device went offline under a task.
  node_overdrawn,        ///< A node reported less than is held on it.
  second_choice_taken,   ///< A task got another alternative than its first.
  mix_learned,           ///< The target mix was learned anew.
};
inline constexpr std::array<std::string_view, 33> rare_path_names{
    "domain_revised",       "attempts_spent",      "choosiest_first",
    "exact_found",          "exact_none",          "exact_gave_up",
    "exact_too_large",      "wish_given_up",       "started_without_minimum",
    "limit_held_gang",      "limit_refused_task",  "company_awaited",
    "cycle_repeated",       "gang_grew",           "gang_mended",
    "gang_given_up",        "rest_stopped",        "offers_spent",
    "tallies_recounted",    "class_evicted",       "log_outrun",
    "node_drained",         "report_outdated",     "report_repeated",
    "report_of_forgotten",  "exit_before_start",   "ended_while_stopping",
    "refused_placed_again", "cancelled_at_launch", "device_lost_in_use",
    "node_overdrawn",       "second_choice_taken", "mix_learned"};
static_assert(static_cast<std::size_t>(RarePath::mix_learned) + 1 == rare_path_names.size());

using RarePaths = Counts<RarePath, rare_path_names.size()>;

}  // namespace tutti
