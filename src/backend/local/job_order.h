/// What a task of a job runs on this machine, and with what around it: from the job's own words and
/// from where the plan put it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/local/launch_order.h"
#include "base/result.h"
#include "model/action.h"
#include "model/state.h"

namespace tutti {

/// The stored variables of a job, as encode_environment writes them.
using ReadEnvironment = std::function<Result<std::string>(std::string_view name)>;

class JobOrders {
 public:
  /// `data`: the server's own folder, of which no task need know anything.
  JobOrders(ReadEnvironment environment, std::string data)
      : environment_(std::move(environment)), data_(std::move(data)) {}

  /// REQUIRES: the action places a task of a job that `state` knows.
  /// Every task finds TUTTI_JOB_ID, TUTTI_JOB_NAME, TUTTI_TASK, TUTTI_ATTEMPT and TUTTI_QUEUE;
  /// those of a gang also RANK, LOCAL_RANK and WORLD_SIZE; and which devices are its own, in the
  /// words of their vendor. Those are a convention: nothing keeps it from looking at others.
  Result<LaunchOrder> operator()(const Action& action, const State& state) const;

 private:
  ReadEnvironment environment_;
  std::string data_;
};

}  // namespace tutti
