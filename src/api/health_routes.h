/// What a server says of itself. /metrics is for Prometheus; /healthz: the process answers;
/// /readyz: the engine does, too; /api/v1/server: how it was started; /api/v1/openapi.json
/// describes all of the API.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "api/engine_thread.h"
#include "api/event_feed.h"
#include "api/measured_journal.h"
#include "api/server.h"

namespace tutti {

class HealthRoutes {
 public:
  /// What it was started with, without addresses, paths and secrets: name and value.
  using Settings = std::vector<std::pair<std::string, std::string>>;

  struct Checkpoints {
    JournalRow newest = 0;     ///< Its row; 0: there is none.
    std::uint64_t failed = 0;  ///< Since the server started.
  };

  /// All of it must outlive the routes.
  struct Ports {
    net::EventLoop* loop = nullptr;
    EngineThread* engine = nullptr;
    const MeasuredJournal* journal = nullptr;
    const JobTable* jobs = nullptr;
    const EventFeed* feed = nullptr;
    Server* server = nullptr;
    std::string version;
    std::string commit;
    Settings settings;
    std::function<Checkpoints()> checkpoints;  ///< Where some are made.
    Duration patience = Duration::seconds(5);  ///< With the engine; then it is not ready.
  };

  explicit HealthRoutes(Ports ports) : ports_(std::move(ports)) {}
  void declare();

 private:
  void metrics(Call call);
  std::string server_json() const;
  void ready(Call call);
  /// What the readers' thread knows.
  void write_own(MetricsText& text) const;

  Ports ports_;
};

}  // namespace tutti
