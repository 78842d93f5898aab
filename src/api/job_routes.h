/// /api/v1/jobs: to submit jobs, to look at them, and to change their fate.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/engine_thread.h"
#include "api/job_batch.h"
#include "api/job_quota.h"
#include "api/job_table.h"
#include "api/request_keys.h"
#include "api/router.h"
#include "net/event_loop.h"

namespace tutti {

class Catalog;
class PolicyFactory;
struct Submission;

class JobRoutes {
 public:
  using ReadOutput = std::function<Result<std::string>()>;

  /// All of it must outlive the routes.
  struct Ports {
    net::EventLoop* loop = nullptr;
    EngineThread* engine = nullptr;
    const JobTable* jobs = nullptr;
    const RequestKeys* requests = nullptr;
    const Catalog* catalog = nullptr;
    const PolicyFactory* factory = nullptr;
    /// Keeps the variables of a job apart from it, under this name.
    std::function<Result<void>(std::string_view name, std::string_view variables)> keep_environment;
    /// Reads what an attempt prints: each call gives the next piece, or nothing where there is no
    /// more yet.
    std::function<ReadOutput(const TaskId& task, std::uint32_t attempt)> open_output;
    /// The same of a file of the job's own, if it belongs to this user.
    std::function<Result<ReadOutput>(const std::string& path, const std::string& user)> open_file;
    /// The only one whose jobs can run here; empty: everybody's can.
    std::string only_user;
    /// Whoever follows something is let go when it is so no more.
    StillGood still_good;
    /// Of one user who is no administrator, waiting and running.
    std::uint64_t jobs_per_user = UINT64_MAX;
  };

  explicit JobRoutes(Ports ports)
      : ports_(std::move(ports)), quota_(*ports_.jobs, ports_.jobs_per_user) {}
  void declare(Router& router);

 private:
  void submit(Call call);
  /// The same with dry_run=true: says what would come of it.
  void try_out(Call call);
  void list(Call call) const;
  void show(Call call) const;
  std::string json_for(const User& reader, const JobRow& row) const;
  /// Answers 412 where the asker has not seen what the job is by now.
  bool unseen(Call& call, const JobRow& row) const;
  void change(Call call, const std::function<Event(JobId)>& event);
  void explain(Call call);
  void output(Call call);
  struct Reading;
  enum class Passed : std::uint8_t {
    all,   ///< That there is by now.
    some,  ///< The reader takes its time.
    gone,  ///< Nobody reads any more.
  };
  Passed pass_on(Reading& reading) const;
  /// Passes on what there is, and comes back for more.
  void go_on(const std::shared_ptr<Reading>& reading);

  /// True where the call needs nothing more: it came before, or comes twice at this moment.
  bool answered_before(Call& call, const RequestKey& key);
  void batch(Call call);
  Result<JobBatch::Outcome> batch_line(const Call& call, const std::optional<RequestKey>& batch,
                                       const JobBatch::Line& line);
  /// Events that submit jobs, and a place for each.
  struct Submissions {
    std::vector<Event> events;
    std::vector<JobQuota::Place> places;
  };
  Result<Submissions> submissions(const Call& call);  // A dry run's have no effect.
  /// What the next job is called.
  JobId next_id();
  /// Numbers of the array that it is, where it is one and alone.
  std::uint64_t array_of_only(const std::vector<JobId>& jobs) const;
  Result<void> check_sight(const User& user, const JobSpec& spec) const;
  Result<Event> submission(const Call& call, const Submission& wanted, JobQuota::Place& place);

  Ports ports_;
  JobQuota quota_;
  std::uint64_t next_id_ = 1;
  /// A request with a key that the engine has, and those that came with the same key since.
  struct UnderWay {
    std::uint64_t content = 0;
    std::vector<Call> waiting;
  };
  using AllUnderWay = std::map<std::string, UnderWay>;
  std::shared_ptr<AllUnderWay> under_way_ = std::make_shared<AllUnderWay>();
  std::set<std::shared_ptr<Reading>> readings_;
  std::multiset<JobId> changing_;  ///< Changes that are on their way to the engine.
};

}  // namespace tutti
