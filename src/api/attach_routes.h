/// GET /api/v1/jobs/{id}/tasks/{n}:attach: somebody sits at a task, by an upgraded connection
/// (attach_frame.h).
///
/// He may come before the task has begun. When he goes, the job is cancelled; when the server does,
/// it is not. Of several who look at one task the last one stays. Belongs to the readers' thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "api/engine_thread.h"
#include "api/job_table.h"
#include "api/router.h"
#include "net/event_loop.h"

namespace tutti {

/// A terminal of a task, or pipes to it. Nothing here waits.
class TerminalPort {
 public:
  virtual ~TerminalPort() = default;
  /// Readable when `output` has something, or the end; writable when `input` takes more.
  virtual int fd() const = 0;
  /// What was written since the last time, perhaps nothing; nullopt at the end.
  virtual std::optional<std::string> output() = 0;
  /// Returns how many of the bytes were taken.
  virtual std::size_t input(std::string_view bytes) = 0;
  virtual void end_input() = 0;
  virtual void resize(std::uint16_t rows, std::uint16_t columns) = 0;
  virtual void signal(int number) = 0;
};

class AttachRoutes {
 public:
  /// Of an attempt that runs.
  using OpenTerminal = std::function<Result<std::unique_ptr<TerminalPort>>(const TaskId& task,
                                                                           std::uint32_t attempt)>;
  /// All of it must outlive the routes.
  struct Ports {
    net::EventLoop* loop = nullptr;
    EngineThread* engine = nullptr;
    const JobTable* jobs = nullptr;
    OpenTerminal open_terminal;
    StillGood still_good;
    Duration between_checks = Duration::seconds(5);  ///< Whether it is so.
  };

  explicit AttachRoutes(Ports ports);
  AttachRoutes(const AttachRoutes&) = delete;
  AttachRoutes& operator=(const AttachRoutes&) = delete;
  ~AttachRoutes();

  void declare(Router& router);
  /// The server ends: whoever looks is let go, and no job is cancelled for it.
  void stop();

 private:
  class Session;
  void attach(Call call);
  void end(Session* session);

  Ports ports_;
  std::set<std::shared_ptr<Session>> sessions_;
};

}  // namespace tutti
