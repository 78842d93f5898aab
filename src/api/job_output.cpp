/// What a task printed, so far or for as long as it goes on.
#include <memory>
#include <utility>

#include "api/job_access.h"
#include "api/job_routes.h"
#include "api/query.h"
#include "dialect/workload.h"

namespace tutti {
namespace {

constexpr Duration for_more = Duration::milliseconds(100);
constexpr Duration for_the_reader = Duration::milliseconds(2);
/// Bytes on their way to a reader: far fewer than what a stream is cut off for.
constexpr std::size_t queued_most = 256 << 10U;

}  // namespace

/// Somebody who reads along.
struct JobRoutes::Reading {
  net::OpenStream stream;
  TaskId task;
  std::uint32_t attempt = 0;
  std::string token;      ///< Of the reader.
  bool own_file = false;  ///< The job's, in which all attempts write.
  bool follow = false;    ///< Until the task ends.
  ReadOutput next;
  net::Timer timer;
};

JobRoutes::Passed JobRoutes::pass_on(Reading& reading) const {
  while (reading.stream.open()) {
    if (reading.stream.queued() > queued_most) return Passed::some;
    if (!reading.next) return Passed::all;
    auto piece = reading.next();
    if (!piece || piece->empty()) return Passed::all;
    reading.stream.push(*std::move(piece));
  }
  return Passed::gone;
}

void JobRoutes::output(Call call) {
  const JobRow* const row = job_for(call, *ports_.jobs, Deed::read);
  if (row == nullptr) return;
  const auto ordinal = natural(call.request.query_value("task").value_or("0"));
  if (!ordinal || *ordinal >= row->tasks.size()) {
    return call.refuse(
        {Code::not_found,
         "job " + call.parts[0] + " has tasks 0 to " + std::to_string(row->tasks.size() - 1),
         {},
         {}});
  }
  auto reading = std::make_shared<Reading>();
  const std::string& file = role_of(*row->spec, static_cast<std::uint32_t>(*ordinal)).launch.output;
  reading->own_file = !file.empty();
  if (reading->own_file) {
    auto opened = ports_.open_file(file, row->spec->user);
    if (!opened) return call.refuse(opened.error());
    reading->next = *std::move(opened);
  }
  reading->token = call.user.token;
  reading->task = {row->id, static_cast<std::uint32_t>(*ordinal)};
  reading->stream = call.stream(
      {.status = 200, .headers = {{"Content-Type", "application/octet-stream"}}, .body = {}});
  reading->follow = call.request.query_value("follow").value_or("") == "true";
  readings_.insert(reading);
  go_on(reading);
}

void JobRoutes::go_on(const std::shared_ptr<Reading>& reading) {
  const auto finish = [&] {
    reading->stream.finish();
    readings_.erase(reading);
  };
  if (!ports_.still_good(reading->token)) return finish();
  const JobRow* const job = ports_.jobs->find(reading->task.job);
  const TaskRow task =
      job == nullptr ? TaskRow{.attempt = reading->attempt} : job->tasks[reading->task.ordinal];
  // Looked at first: what an attempt printed is complete when it is said to have ended.
  const bool over = !reading->follow || job == nullptr || ended(task.phase);
  Passed passed = pass_on(*reading);
  if (passed == Passed::all && reading->attempt != task.attempt && !reading->own_file) {
    reading->attempt = task.attempt;
    reading->next = ports_.open_output(reading->task, task.attempt);
    passed = pass_on(*reading);
  }
  if (passed == Passed::gone || (over && passed == Passed::all)) return finish();
  reading->timer = ports_.loop->after(passed == Passed::all ? for_more : for_the_reader,
                                      [this, again = std::weak_ptr(reading)] {
                                        if (const auto there = again.lock()) go_on(there);
                                      });
}

}  // namespace tutti
