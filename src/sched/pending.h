/// The gangs that wait, in the order in which they are tried.
///
/// Gangs of equal shape, queue and priority are interchangeable but for their age, so they share a
/// bucket; when the oldest of a bucket cannot be placed, none of it can, and the whole bucket
/// sleeps until something happens that could change that. A cycle therefore costs what it places,
/// not what waits. An elastic gang that runs already and wants to grow is alone in its bucket:
/// where it may grow depends on where it runs. Order: priority (highest first), submission, job id,
/// gang.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "model/state.h"
#include "sched/plan.h"

namespace tutti {

class Pending {
 public:
  void clear();
  /// The gang may have begun or stopped waiting; adding it twice is harmless.
  void add(const State& state, GangIndex gang);
  void wake(Wake cause);

  /// Begins a pass over the buckets that are awake.
  void begin(const State& state);
  /// The next gang to try, or none at the end of the pass.
  GangIndex next();
  /// What became of the gang that `next` returned last.
  void placed(const State& state);
  void sleeps(Wake until);
  /// It sleeps, but a change in what the tallies of these classes count may change its answer too.
  void awaits_company(std::span<const ShapeIndex> classes);
  /// Other tasks count for the class than before. Who waits for that and whose turn is still to
  /// come is tried in the running pass: a pass over all of them would do so too.
  void company_changed(const State& state, ShapeIndex of_class);
  /// Would another pass have something to try?
  bool any_awake() const { return !awake_.empty(); }
  /// Ends the pass; what was not tried is tried in the next one.
  void finish();

 private:
  struct Entry {
    std::int64_t submitted_us = 0;
    JobId job;
    GangIndex gang;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  struct Bucket {
    std::int32_t priority = 0;
    bool growing = false;  ///< Of one gang that has started, not of many that have not.
    std::size_t head = 0;
    std::vector<Entry> entries;  ///< Sorted from `head` on.
    bool awake = false;
    std::array<bool, 3> listed{};  ///< By Wake: stands in `asleep_` already.
  };
  struct Key {
    std::uint32_t queue = 0;
    std::int32_t priority = 0;
    std::uint32_t shape = 0;
    GangIndex growing;  ///< None for gangs that have not started.
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  Bucket& bucket_of(const State& state, GangIndex gang);
  /// Drops entries at the head that no longer wait. False when the bucket is empty.
  static bool trim(const State& state, Bucket& bucket);
  bool before(std::uint32_t a, std::uint32_t b) const;
  bool still_to_come(std::uint32_t number) const;
  void push(std::uint32_t number);
  void wake_bucket(std::uint32_t number);

  std::vector<Bucket> buckets_;
  std::map<Key, std::uint32_t> by_key_;
  std::vector<std::uint32_t> awake_;                  ///< Buckets that the next pass looks at.
  std::vector<std::uint32_t> heap_;                   ///< Of the running pass.
  std::array<std::vector<std::uint32_t>, 3> asleep_;  ///< By Wake; may name awake buckets.
  std::set<std::pair<ShapeIndex, std::uint32_t>> awaiting_;  ///< Buckets by class; may be awake.
  std::uint32_t current_ = 0;  ///< The bucket of the gang that was tried last ...
  Entry turn_;                 ///< ... and the gang.
  bool passing_ = false;
};

/// Does the gang have tasks that a cycle could place now?
bool wants_place(const State& state, GangIndex gang);

}  // namespace tutti
