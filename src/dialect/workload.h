/// A fleet and a workload as files describe them: nodes, and jobs with their times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dialect/environment.h"
#include "model/event.h"
#include "model/job.h"
#include "model/node.h"

namespace tutti {

/// One job and what the world will do with it; an engine only ever sees the spec.
struct Submission {
  std::shared_ptr<const JobSpec> spec;
  std::vector<Variable> environment;  ///< May be secret: it stays out of the spec.
  /// Jobs above it in the same file that it waits for, by their rows; see `with_after`.
  std::vector<Dependency> after;
  Instant at;
  Duration length;             ///< How long its tasks run; zero: until they are stopped.
  std::int64_t gpu_milli = 0;  ///< Of all its tasks together.
};

/// A word of a file that something else must know (dialect/mentions.h).
struct Mention {
  enum class Of : std::uint8_t {
    queue,
    level,      ///< Nodes that belong together: `together`, `near`, `within`, `over`.
    label,      ///< Given to nodes by `domains`.
    model,      ///< Of a device.
    attribute,  ///< Of a device, and what it is compared with.
    amount,     ///< Hardly meant: `name` says how much it is, `value` what may be meant.
  };
  Of of = Of::queue;
  std::string name;
  std::string value;
  std::string where;  ///< "3:7", with its file once that is known.
};

struct Workload {
  std::string name;                ///< The file's stem.
  std::vector<Submission> jobs;    ///< In the order of the file.
  std::vector<MixSet::Entry> mix;  ///< Typical tasks, most frequent first.
  std::vector<Mention> mentions;   ///< Each word once, where it stands first.
};

struct FleetFile {
  std::string name;
  std::vector<NodeSpec> nodes;
  std::vector<TreeSpec> trees;
  std::vector<QueueSpec> queues;  ///< Parents before their children.
  std::vector<Pool> pools;        ///< Those that the file declares, with their control.
  std::vector<Mention> mentions;  ///< Each word once, where it stands first.
};

/// What a reader left out because its caller allowed it.
struct Skipped {
  static constexpr std::size_t kept = 10;
  std::size_t allowed = 0;
  std::size_t lines = 0;      ///< Or objects.
  std::vector<Error> errors;  ///< Of the first ones, at most `kept`.

  /// Notes one more; the error itself where none may be left out.
  Result<void> leave_out(Error error);
  /// An error where there are more than are allowed. All are counted before it is asked.
  Result<void> check() const;
};

/// How a job is called in reports of what did not fit: "cpu", "share", or its accelerators per
/// task.
std::string size_name(const JobSpec& spec);

/// The spec of a job that also waits for these. Those of a file are known by their rows before
/// somebody gives them ids.
std::shared_ptr<const JobSpec> with_after(std::shared_ptr<const JobSpec> spec,
                                          std::vector<Dependency> after);

/// The number that a gang of a job has in its array, or none. O(ranges).
std::optional<std::uint32_t> array_number(const JobSpec& spec, std::uint32_t gang);

/// Tasks of all its gangs.
std::uint64_t tasks_of(const JobSpec& spec);

/// The role of its task with that ordinal. REQUIRES: it has so many. O(roles * copies of groups).
const RoleSpec& role_of(const JobSpec& spec, std::uint32_t ordinal);

/// ‰ of devices that all tasks of a job ask for together, by their first alternatives.
std::int64_t gpu_milli_of(const JobSpec& spec);

/// The tasks of these jobs, the most frequent first: what a fleet should stay able to take. Of a
/// task only its cpu and its devices count. O(n log n) in the tasks' shapes.
std::vector<MixSet::Entry> mix_of(std::span<const Submission> jobs);

/// Which labels of a job its tasks have.
enum class TaskLabels : std::uint8_t {
  /// Those, and the namespace, that some selector of these jobs can tell apart: so tasks which no
  /// selector distinguishes stay equal. For jobs of which no others will come.
  selected,
  all,
};
/// REQUIRES: nobody else holds the specs yet.
void give_labels(std::span<const std::shared_ptr<JobSpec>> jobs, TaskLabels which);

}  // namespace tutti
