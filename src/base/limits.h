/// Every limit of the engine and its inputs, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::limits {

/// One mask of 128 bits per task: 16 cards in 7 slices each, and 16 NICs, still fit.
inline constexpr unsigned devices_per_node = 128;

/// Lanes are columns of one matrix per fleet; a cluster with every vendor's plugin has about 40.
inline constexpr unsigned lanes = 64;

/// Amounts stay below 2^60, so that a sum of eight of them cannot overflow before it is checked.
inline constexpr std::int64_t amount = std::int64_t{1} << 60;

/// Dense indexes are 32-bit; a fleet of ten million nodes is beyond every known one.
inline constexpr std::uint32_t nodes = 10'000'000;

/// Tasks of one job; a larger sweep is several jobs.
inline constexpr std::uint32_t tasks_per_job = 100'000;

/// Roles of one gang, copies of its groups included: tasks know theirs by 16 bits.
inline constexpr std::uint32_t roles_per_gang = 65'535;

/// MiB of one device, 2 PiB: usage counts them in 32 bits.
inline constexpr std::int64_t device_mib = (std::int64_t{1} << 31) - 1;

/// Device types of a fleet: an index is 16 bits, of which one value means none.
inline constexpr std::uint32_t device_types = 65'535;

/// Submitted tasks from which a target mix is learned, beyond which older ones fade: few enough to
/// follow a change within days, enough for classes of a thousandth of the mix.
inline constexpr std::uint32_t arrivals_window = 8192;

/// Tasks of one job that count among them: a sixteenth, so that no sweep becomes the mix.
inline constexpr std::uint32_t arrivals_of_job = 512;

/// Class indexes kept in a workspace; a class beyond them is placed by a vector scan.
inline constexpr unsigned classes = 256;

/// From the signal that asks a task to end until it is killed: what needs longer for its checkpoint
/// holds its devices against everyone else.
inline constexpr std::int64_t grace_seconds = 86'400;

/// Jobs that one job may wait for; a fan-in of more goes through a job between.
inline constexpr std::size_t dependencies_per_job = 1000;

/// Of run times and pauses, ten years: sums of two of them stay far below 2^63 microseconds.
inline constexpr std::int64_t longest_seconds = 10LL * 366 * 86'400;

/// Nesting of YAML and JSON input; real manifests stay below 20.
inline constexpr unsigned input_depth = 128;

/// Nodes of one YAML document, about 1 GB of memory: a larger one is refused, not swapped.
inline constexpr std::uint64_t yaml_nodes = 5'000'000;

/// Names in one map of resources or of a device's attributes; lanes are far fewer.
inline constexpr std::size_t names_per_map = 1000;

/// Characters of a name (job, node, queue); Kubernetes allows 253.
inline constexpr unsigned name_length = 253;

}  // namespace tutti::limits
