/// The meter as a section of a checkpoint.
#include <limits>
#include <utility>

#include "ledger/meter.h"

namespace tutti {
namespace {

constexpr std::string_view usage_section = "usage";
/// Within what can be multiplied.
constexpr std::int64_t day_most = std::int64_t{10'000} * 366;

std::int64_t read_amount(BytesIn& in) {
  return static_cast<std::int64_t>(
      in.number_to(std::numeric_limits<std::int64_t>::max(), "an amount that was used"));
}

Day read_day(BytesIn& in) {
  const std::int64_t day = in.signed_number();
  if (day < -day_most || day > day_most) in.refuse("a day is out of its range");
  return in.ok() ? static_cast<Day>(day) : 0;
}

}  // namespace

void Meter::write_days(BytesOut& out, const Days& days) {
  out.number(days.size());
  for (const auto& [when, used] : days) {
    out.signed_number(when.day);
    out.text(when.model);
    for (const std::int64_t each :
         {used.device_permille_s, used.core_permille_s, used.memory_mib_s, used.jobs, used.tasks}) {
      out.number(static_cast<std::uint64_t>(each));
    }
  }
}

Meter::Days Meter::read_days(BytesIn& in) {
  Days days;
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    const Day day = read_day(in);
    Used& used = days[When{day, std::string(in.text())}];
    used.device_permille_s = read_amount(in);
    used.core_permille_s = read_amount(in);
    used.memory_mib_s = read_amount(in);
    used.jobs = read_amount(in);
    used.tasks = read_amount(in);
  }
  return days;
}

void Meter::write(CheckpointWriter& to) const {
  to.begin(usage_section);
  BytesOut& out = to.out();
  out.signed_number(today_);
  out.number(owners_.size());
  for (const auto& [owner, days] : owners_) {
    out.text(owner.user);
    out.text(owner.queue);
    write_days(out, days);
    to.flush_if_much();
  }
  out.number(jobs_.size());
  for (const auto& [id, job] : jobs_) {
    out.number(id.value());
    out.text(job.name);
    out.text(job.owner.user);
    out.text(job.owner.queue);
    write_days(out, job.days);
    to.flush_if_much();
  }
  out.number(running_.size());
  for (const auto& [task, running] : running_) {
    out.number(task.job.value());
    out.number(task.ordinal);
    out.signed_number(running.since.us);
    out.number(static_cast<std::uint64_t>(running.core_permille));
    out.number(static_cast<std::uint64_t>(running.memory_mib));
    out.number(running.parts.size());
    for (const Holding::Part& part : running.parts) {
      out.text(part.model);
      out.number(static_cast<std::uint64_t>(part.device_permille));
    }
    to.flush_if_much();
  }
}

void Meter::read_running(BytesIn& in) {
  const JobId id(in.number());
  TaskId task{id, 0};
  task.ordinal =
      static_cast<std::uint32_t>(in.number_to(std::numeric_limits<std::uint32_t>::max(), "a task"));
  Running running{.since = {in.signed_number()}};
  running.core_permille = read_amount(in);
  running.memory_mib = read_amount(in);
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    Holding::Part& part = running.parts.emplace_back();
    part.model = in.text();
    part.device_permille = read_amount(in);
  }
  const auto job = jobs_.find(id);
  const Day since = day_of(running.since);
  if (job == jobs_.end()) in.refuse("a task is of no job");
  if (running.parts.empty()) in.refuse("a task holds nothing");
  if (since < -day_most || since > day_most) in.refuse("a task started at no time");
  if (!in.ok()) return;
  idle_.erase(id);
  if (running_.emplace(task, std::move(running)).second) ++job->second.running;
}

Result<void> Meter::read(CheckpointReader& from) {
  BytesIn& in = from.in();
  if (!from.begin(usage_section)) return in.result();
  today_ = read_day(in);
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    Owner owner;
    owner.user = in.text();
    owner.queue = in.text();
    owners_.emplace(std::move(owner), read_days(in));
  }
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    const JobId id(in.number());
    JobUse& job = jobs_[id];
    job.name = in.text();
    job.owner.user = in.text();
    job.owner.queue = in.text();
    job.days = read_days(in);
    idle_.insert(id);
  }
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) read_running(in);
  return in.result();
}

}  // namespace tutti
