/// POST /api/v1/jobs:batch: a job on each line of NDJSON, and a line of the answer for each.
///
/// Lines stand for themselves: what is wrong with one concerns no other. They are read some hundred
/// at a time, so that others are answered meanwhile, and go to the engine some thousand at a time,
/// so that few waits for the disk do for all.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/engine_thread.h"
#include "api/job_quota.h"
#include "api/router.h"
#include "net/event_loop.h"

namespace tutti {

class JobBatch : public std::enable_shared_from_this<JobBatch> {
 public:
  /// Makes a job of a line, whose number it gets.
  struct Line {
    std::size_t number = 0;  ///< From 1.
    std::string_view text;
  };
  /// What came of a line: an event to be sent, or an answer that is known already.
  struct Outcome {
    std::optional<Event> event;
    std::string id;
    JobQuota::Place place{};  ///< Of a new job.
  };
  using Read = std::function<Result<Outcome>(const Call& call, const Line& line)>;

  struct Ports {
    net::EventLoop* loop = nullptr;
    EngineThread* engine = nullptr;
    Read read;
  };

  JobBatch(Ports ports, Call call) : ports_(std::move(ports)), call_(std::move(call)) {}
  /// Goes on by itself until it has answered.
  void start();

 private:
  void go_on();
  bool next_line(Line& line);
  void read(const Line& line);
  void send();
  void answer_if_done();

  Ports ports_;
  Call call_;
  std::size_t at_ = 0;  ///< In the body.
  std::size_t number_ = 0;
  struct Reply {
    std::size_t line = 0;
    std::string text;
    JobId made{};
  };
  std::vector<Reply> replies_;
  std::vector<Event> events_;            ///< Not sent yet ...
  std::vector<JobQuota::Place> places_;  ///< ... theirs ...
  std::vector<std::size_t> to_fill_;     ///< ... and where their answers belong.
  std::size_t under_way_ = 0;            ///< Parts that the engine has.
  bool reading_ = true;                  ///< There may be more lines.
  bool blocked_ = false;                 ///< Until the engine is done with a part.
};

}  // namespace tutti
