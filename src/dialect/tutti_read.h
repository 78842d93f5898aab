/// Pieces of Tutti's YAML that fleets and jobs share; private to dialect/.
///
/// Every function reads the fields that it names from `reader`, and errors stand at the place of
/// the value that is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dialect/workload.h"
#include "format/reader.h"
#include "model/event.h"
#include "model/job.h"

namespace tutti {

class Catalog;

/// The documents of a text; an empty one is an error that asks for `wanted`.
Result<std::vector<Value>> documents_of(std::string_view yaml, std::string_view wanted);

/// Puts the path in front of an error, and the place of `value` where it has none.
Error at_value(Error error, const std::string& path, const Value& value);

/// "8", and nothing but digits; nullopt also for what no int64 holds.
std::optional<std::int64_t> whole_number(std::string_view text);

/// The items of a list, or the value itself as the only one: "gpus: 8xL4", "gpus: [8xL4, 1xT4]".
std::span<const Value> one_or_many(const Value& value);

/// A map of resources or attributes has names, and not more of them than anything can use.
Result<void> check_width(std::span<const Value::Member> members, const std::string& path);

/// A name within its limits, absent or read.
Result<std::string> read_name(Reader& reader, std::string_view field);

/// `cpu` in cores, `memory` and `storage` in bytes, `resources` by name; laid over `base`. Sorted
/// by name; those set to zero are left out unless `keep_zeros`.
enum class Zeros : std::uint8_t { drop, keep };
Result<std::vector<NamedAmount>> read_amounts(Reader& reader, std::vector<NamedAmount> base,
                                              Zeros zeros);

/// One map of amounts by name, with the units of their names: a queue's `limit`.
Result<std::vector<NamedAmount>> read_amount_map(Reader& reader, std::string_view field);

/// Labels by key, or whatever else is text by name. O(n log n).
Result<Labels> read_labels(Reader& reader, std::string_view field);

/// `{zone: a, rack: [r1, r2], gen: {greater: 3, exists: true}}`: all must hold.
Result<Selector> read_selector(Reader& reader, std::string_view field);
Result<Selector> selector_of(const Value& value, const std::string& path);

/// `together: rack` or `near: rack`.
Result<Closeness> read_closeness(Reader& reader);

/// "key=value:no_schedule", or a map of those fields.
Result<std::vector<Taint>> read_taints(Reader& reader);
Result<std::vector<Toleration>> read_tolerations(Reader& reader);

/// What one task asks for, laid over `base`; a field that is absent leaves the base's.
Result<TaskShape> read_shape(Reader& reader, TaskShape base, const Catalog* catalog);

/// `command` and what belongs to it.
Result<LaunchSpec> read_launch(Reader& reader);

/// `environment`: variables of all its tasks.
Result<std::vector<Variable>> read_environment(Reader& reader);

/// The part of it that is about other tasks.
Result<void> read_neighbours(Reader& reader, TaskShape& shape);

/// A job that another one waits for: by its name, where the same file has it above, or by its
/// number.
struct NamedDependency {
  std::string job;
  Dependency::On on = Dependency::On::success;
};

/// "0-99:2,200%10": the numbers of an array, and how many of it run at once (0: all).
struct ArraySpec {
  std::vector<IndexRange> ranges;
  std::uint64_t count = 0;
  std::uint32_t at_once = 0;
};
Result<ArraySpec> parse_array(std::string_view text);

/// A job as one entry of a file stands for it: its copies differ in name and arrival.
struct JobEntry {
  JobSpec spec;
  std::vector<std::string> names;
  Duration at;
  Duration every;
  Duration length;
  std::vector<Variable> environment;
  std::vector<NamedDependency> after;
  std::uint32_t array_count = 0;  ///< Numbers of its array; 0: it is none.
};
/// `after`, `time_limit`, `retries`, `policies`, `array` and what belongs to them.
Result<void> read_rules(Reader& reader, JobEntry& job);
/// What of it is a job of this number; nullopt: a name.
std::optional<JobId> numbered_job(std::string_view job);
/// `room`: how many more jobs the file may have.
Result<JobEntry> read_job(Reader& reader, std::size_t room, const Catalog* catalog);

/// The target mix: task shapes with a `weight`.
Result<MixSet::Entry> read_mix_entry(Reader& reader, const Catalog* catalog);

}  // namespace tutti
