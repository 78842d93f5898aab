#include "sched/pending.h"

#include <algorithm>

#include "base/check.h"
#include "sched/gang.h"

namespace tutti {

bool wants_place(const State& state, GangIndex index) {
  const Gang& gang = state.gangs()[index];
  if (!gang.job.valid() || state.jobs()[gang.job].cancelled) return false;
  const Job& job = state.jobs()[gang.job];
  if (job.held || job.awaits > 0 || index.value() - job.first_gang.value() >= job.admitted) {
    return false;
  }
  if (gang.fate != Fate::none || gang.pausing) return false;
  if (gang.stopping > 0 || gang.pending() == 0) return false;
  return gang.holding == 0 || whole(state, index);  // A broken gang is repaired, out of turn.
}

namespace {

bool has_started(const Gang& gang) { return gang.holding > 0 || gang.done > 0; }

}  // namespace

void Pending::clear() { *this = Pending(); }

Pending::Bucket& Pending::bucket_of(const State& state, GangIndex index) {
  const Gang& gang = state.gangs()[index];
  const Job& job = state.jobs()[gang.job];
  const bool growing = has_started(gang);
  const Key key{job.queue.value(), job.spec->priority, gang.shape.value(),
                growing ? index : GangIndex::none()};
  const auto [at, fresh] = by_key_.try_emplace(key, static_cast<std::uint32_t>(buckets_.size()));
  if (fresh) {
    buckets_.push_back({.priority = job.spec->priority, .growing = growing});
  }
  wake_bucket(at->second);
  return buckets_[at->second];
}

void Pending::wake_bucket(std::uint32_t number) {
  if (buckets_[number].awake) return;
  buckets_[number].awake = true;
  awake_.push_back(number);
}

void Pending::add(const State& state, GangIndex index) {
  if (!wants_place(state, index)) return;
  const Gang& gang = state.gangs()[index];
  const Job& job = state.jobs()[gang.job];
  Bucket& bucket = bucket_of(state, index);
  const Entry entry{job.submitted.us, job.id, index};
  const auto begin = bucket.entries.begin() + static_cast<std::ptrdiff_t>(bucket.head);
  if (bucket.entries.empty() || bucket.entries.back() < entry) {
    bucket.entries.push_back(entry);
    return;
  }
  const auto at = std::lower_bound(begin, bucket.entries.end(), entry);
  if (at == bucket.entries.end() || *at != entry) bucket.entries.insert(at, entry);
}

void Pending::wake(Wake cause) {
  for (std::size_t kind = 0; kind < asleep_.size(); ++kind) {
    // A changed description may change anything.
    if (kind != static_cast<std::size_t>(cause) && cause != Wake::description_changed) continue;
    for (const std::uint32_t number : asleep_[kind]) {
      buckets_[number].listed[kind] = false;
      wake_bucket(number);
    }
    asleep_[kind].clear();
  }
}

bool Pending::trim(const State& state, Bucket& bucket) {
  while (bucket.head < bucket.entries.size()) {
    const Entry& entry = bucket.entries[bucket.head];
    const Gang& gang = state.gangs()[entry.gang];
    const bool same = gang.job.valid() && state.jobs()[gang.job].id == entry.job;
    // A gang that started meanwhile waits in a bucket of its own.
    if (same && has_started(gang) == bucket.growing && wants_place(state, entry.gang)) return true;
    ++bucket.head;
  }
  bucket.entries.clear();
  bucket.head = 0;
  return false;
}

bool Pending::before(std::uint32_t a, std::uint32_t b) const {
  const Bucket& left = buckets_[a];
  const Bucket& right = buckets_[b];
  if (left.priority != right.priority) return left.priority > right.priority;
  return left.entries[left.head] < right.entries[right.head];
}

void Pending::begin(const State& state) {
  heap_.clear();
  for (const std::uint32_t number : awake_) {
    if (trim(state, buckets_[number])) {
      heap_.push_back(number);
    } else {
      buckets_[number].awake = false;
    }
  }
  awake_.clear();
  std::ranges::make_heap(heap_, [this](auto a, auto b) { return before(b, a); });
  passing_ = false;
}

GangIndex Pending::next() {
  if (heap_.empty()) return GangIndex::none();
  std::ranges::pop_heap(heap_, [this](auto a, auto b) { return before(b, a); });
  current_ = heap_.back();
  heap_.pop_back();
  turn_ = buckets_[current_].entries[buckets_[current_].head];
  passing_ = true;
  return turn_.gang;
}

void Pending::placed(const State& state) {
  Bucket& bucket = buckets_[current_];
  ++bucket.head;
  if (!trim(state, bucket)) {
    bucket.awake = false;
    return;
  }
  push(current_);
}

void Pending::finish() {
  awake_.insert(awake_.end(), heap_.begin(), heap_.end());
  heap_.clear();
  passing_ = false;
}

void Pending::awaits_company(std::span<const ShapeIndex> classes) {
  for (const ShapeIndex each : classes) awaiting_.emplace(each, current_);
}

void Pending::company_changed(const State& state, ShapeIndex of_class) {
  const auto first = awaiting_.lower_bound({of_class, 0});
  auto last = first;
  for (; last != awaiting_.end() && last->first == of_class; ++last) {
    Bucket& bucket = buckets_[last->second];
    if (bucket.awake) continue;
    if (!trim(state, bucket)) continue;
    if (passing_ && still_to_come(last->second)) {
      bucket.awake = true;
      push(last->second);
    } else {
      wake_bucket(last->second);
    }
  }
  awaiting_.erase(first, last);
}

bool Pending::still_to_come(std::uint32_t number) const {
  const Bucket& bucket = buckets_[number];
  const std::int32_t priority = buckets_[current_].priority;
  if (bucket.priority != priority) return bucket.priority < priority;
  return turn_ < bucket.entries[bucket.head];
}

void Pending::push(std::uint32_t number) {
  heap_.push_back(number);
  std::ranges::push_heap(heap_, [this](auto a, auto b) { return before(b, a); });
}

void Pending::sleeps(Wake until) {
  Bucket& bucket = buckets_[current_];
  bucket.awake = false;
  const auto kind = static_cast<std::size_t>(until);
  if (bucket.listed[kind]) return;
  bucket.listed[kind] = true;
  asleep_[kind].push_back(current_);
}

}  // namespace tutti
