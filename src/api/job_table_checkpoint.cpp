/// The table of jobs as a section of a checkpoint.
#include <algorithm>
#include <utility>

#include "api/job_table.h"
#include "dialect/workload.h"

namespace tutti {
namespace {

constexpr std::string_view jobs_section = "jobs shown";

/// What stands of a row.
enum Part : std::uint8_t {
  held = 1,
  cancelled = 2,
  started = 4,
  finished = 8,
  reason = 16,
  refused = 32,
  tasks_moved = 64,
};

bool is_new(const TaskRow& task) { return task.attempt == 0 && task.phase == TaskPhase::pending; }

std::uint8_t parts_of(const JobRow& row) {
  unsigned parts = 0;
  if (row.held) parts |= held;
  if (row.cancelled) parts |= cancelled;
  if (row.started) parts |= started;
  if (row.finished) parts |= finished;
  if (!row.reason.empty()) parts |= reason;
  if (!row.refused.empty()) parts |= refused;
  if (!std::ranges::all_of(row.tasks, is_new)) parts |= tasks_moved;
  return static_cast<std::uint8_t>(parts);
}

void write_task(BytesOut& out, const TaskRow& task) {
  out.byte(static_cast<std::uint8_t>(task.phase));
  out.byte(static_cast<std::uint8_t>(task.cause));
  out.byte(static_cast<std::uint8_t>(task.why));
  out.signed_number(task.exit_code);
  out.number(task.attempt);
  out.index(task.node);
  for (const std::uint64_t word : task.devices.words()) out.number(word);
}

void read_task(BytesIn& in, TaskRow& task, std::size_t nodes) {
  const auto word = [&](auto last) {
    return static_cast<decltype(last)>(in.number_to(static_cast<std::uint64_t>(last), "a word"));
  };
  task.phase = word(TaskPhase::cancelled);
  task.cause = word(ExitCause::lost);
  task.why = word(Why::never_after);
  const std::int64_t code = in.signed_number();
  task.exit_code = static_cast<std::int32_t>(code);
  if (task.exit_code != code) in.refuse("an exit code is out of its range");
  task.attempt = static_cast<std::uint32_t>(in.number_to(UINT32_MAX, "an attempt"));
  task.node = in.index_or_none<NodeIndex>(nodes, "a node");
  for (unsigned half = 0; half < 2; ++half) {
    for (std::uint64_t rest = in.number(); rest != 0; rest &= rest - 1) {
      task.devices.add(half * 64 + static_cast<unsigned>(std::countr_zero(rest)));
    }
  }
}

void write_row(CheckpointWriter& to, const JobRow& row, Instant before) {
  BytesOut& out = to.out();
  const std::uint8_t parts = parts_of(row);
  to.spec(row.spec);
  out.byte(parts);
  out.byte(static_cast<std::uint8_t>(row.state));
  out.signed_number((row.submitted - before).us);
  if (row.started) out.signed_number((*row.started - row.submitted).us);
  if (row.finished) out.signed_number((*row.finished - row.submitted).us);
  if (!row.reason.empty()) out.text(row.reason);
  if (!row.refused.empty()) out.text(row.refused);
  for (const TaskRow& task : row.tasks) {
    if ((parts & tasks_moved) != 0) write_task(out, task);
  }
}

void read_row(CheckpointReader& from, JobRow& row, Instant before, std::size_t nodes) {
  BytesIn& in = from.in();
  row.spec = from.spec();
  if (row.spec == nullptr) return;
  const std::uint8_t parts = in.byte();
  row.held = (parts & held) != 0;
  row.cancelled = (parts & cancelled) != 0;
  row.state = static_cast<JobState>(in.number_to(job_states - 1, "the state of a job"));
  // Sums of what damaged bytes say may go beyond 64 bits; that is no reason to die.
  const auto later = [&](Instant than) {
    return Instant{static_cast<std::int64_t>(static_cast<std::uint64_t>(than.us) +
                                             static_cast<std::uint64_t>(in.signed_number()))};
  };
  row.submitted = later(before);
  if ((parts & started) != 0) row.started = later(row.submitted);
  if ((parts & finished) != 0) row.finished = later(row.submitted);
  if ((parts & reason) != 0) row.reason = in.text();
  if ((parts & refused) != 0) row.refused = in.text();
  row.tasks.resize(tasks_of(*row.spec));
  for (TaskRow& task : row.tasks) {
    if ((parts & tasks_moved) == 0 || !in.ok()) break;
    read_task(in, task, nodes);
    row.running += task.phase == TaskPhase::running ? 1 : 0;
    row.active += holds(task.phase) ? 1 : 0;
    row.over += ended(task.phase) ? 1 : 0;
  }
  const bool over = row.over == row.tasks.size();
  if (over != ended(row.state) || over != row.finished.has_value()) {
    in.refuse("a job is over, and is not");
  }
}

}  // namespace

void JobTable::write(CheckpointWriter& to) const {
  to.begin(jobs_section);
  BytesOut& out = to.out();
  out.number(nodes_.size());
  for (const std::string& node : nodes_) out.text(node);
  out.number(next_);
  out.number(rows_.size());
  std::uint64_t id = 0;
  Instant at;
  for (const auto& [number, row] : rows_) {
    out.number(number - id);
    write_row(to, row, at);
    id = number;
    at = row.submitted;
    to.flush_if_much();
  }
}

Result<void> JobTable::read(CheckpointReader& from) {
  BytesIn& in = from.in();
  if (!from.begin(jobs_section)) in.refuse("the jobs that are shown are missing");
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    nodes_.emplace_back(in.text());
    if (!known_nodes_.insert(nodes_.back()).second) in.refuse("a node stands twice");
  }
  next_ = in.number();
  std::uint64_t id = 0;
  Instant at;
  std::vector<std::pair<Instant, JobId>> ends;
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    const std::uint64_t gap = in.number();
    if (gap > next_ - id || (gap == 0 && !rows_.empty()) || id + gap >= next_) {
      in.refuse("jobs are not in the order of their numbers");
      break;
    }
    id += gap;
    JobRow& row = rows_.emplace_hint(rows_.end(), id, JobRow{})->second;
    row.id = JobId(id);
    read_row(from, row, at, nodes_.size());
    if (!in.ok()) break;
    at = row.submitted;
    list(row);
    if (row.finished) ends.emplace_back(forgotten_at(row), row.id);
  }
  std::ranges::sort(ends);
  ends_ = std::set<std::pair<Instant, JobId>>(ends.begin(), ends.end());
  return in.result();
}

}  // namespace tutti
