/// All that the API answers: the one list of its routes, for the server and for tests of it.
#pragma once

#include <functional>
#include <string>

#include "api/attach_routes.h"
#include "api/audit_routes.h"
#include "api/event_routes.h"
#include "api/health_routes.h"
#include "api/job_routes.h"
#include "api/node_routes.h"
#include "api/queue_routes.h"
#include "api/server.h"
#include "api/token_routes.h"
#include "api/usage_routes.h"
#include "api/what_if_routes.h"

namespace tutti {

class AllRoutes {
 public:
  /// All of it must outlive the routes.
  struct Ports {
    JobRoutes::Ports jobs;  ///< Others use its loop, engine and table of jobs, too.
    AttachRoutes::OpenTerminal open_terminal;
    EventFeed* feed = nullptr;
    Tokens* tokens = nullptr;
    TokenRoutes::Clock clock;
    const AuditLog* audit = nullptr;
    const Meter* meter = nullptr;
    const MeasuredJournal* journal = nullptr;
    std::string version;
    std::string commit;
    HealthRoutes::Settings settings;
    std::function<HealthRoutes::Checkpoints()> checkpoints;
    Duration patience = Duration::seconds(5);        ///< With the engine; then it is not ready.
    Duration between_checks = Duration::seconds(5);  ///< Of who sits at a task.
  };

  /// The server answers them from now on.
  AllRoutes(Server& server, const Ports& ports);

  /// The server ends: whoever sits at a task is let go, and no job is cancelled for it.
  void stop() { attach_.stop(); }

 private:
  /// REQUIRES: ports that lack nothing.
  AllRoutes(const Ports& ports, Server& server);

  JobRoutes jobs_;
  AttachRoutes attach_;
  NodeRoutes nodes_;
  QueueRoutes queues_;
  WhatIfRoutes what_if_;
  EventRoutes events_;
  TokenRoutes tokens_;
  AuditRoutes audit_;
  UsageRoutes usage_;
  HealthRoutes health_;
};

}  // namespace tutti
