/// What a task of a job runs on this machine, and with what around it: from the job's own words and
/// from where the plan put it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/local/assignments.h"
#include "backend/local/launch_order.h"
#include "base/result.h"
#include "model/action.h"
#include "model/state.h"

namespace tutti {

/// The stored variables of a job, as encode_environment writes them.
using ReadEnvironment = std::function<Result<std::string>(std::string_view name)>;

class JobOrders {
 public:
  /// The same for all tasks.
  struct Settings {
    std::string data;    ///< The server's own folder, of which no task need know anything.
    std::string cgroup;  ///< A control group for those of tasks; empty: they have none.
    std::vector<ProcessLimit> limits;
  };
  /// `assignments` must outlive it.
  JobOrders(ReadEnvironment environment, Settings settings, Assignments& assignments)
      : environment_(std::move(environment)),
        settings_(std::move(settings)),
        assignments_(assignments) {}

  /// REQUIRES: the action places a task of a job that `state` knows.
  /// Every task finds TUTTI_JOB_ID, TUTTI_JOB_NAME, TUTTI_TASK, TUTTI_ATTEMPT and TUTTI_QUEUE;
  /// those of a gang also how to find each other (gang_environment.h); and which devices are its
  /// own, in the words of their vendor. Those are a convention: nothing keeps it from looking at
  /// others. One that asked for whole cores runs on so many, and on no others. With
  /// control groups it has as much memory and time as it asked for, and no more.
  Result<LaunchOrder> operator()(const Action& action, const State& state) const;

 private:
  ReadEnvironment environment_;
  Settings settings_;
  Assignments& assignments_;
};

}  // namespace tutti
