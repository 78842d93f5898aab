#include "api/routes.h"

namespace tutti {

namespace {

AllRoutes::Ports completed(AllRoutes::Ports ports) {
  ports.jobs.still_good = still_good(*ports.tokens, ports.clock);
  return ports;
}

}  // namespace

AllRoutes::AllRoutes(Server& server, const Ports& ports) : AllRoutes(completed(ports), server) {}

AllRoutes::AllRoutes(const Ports& ports, Server& server)
    : jobs_(ports.jobs),
      attach_({.loop = ports.jobs.loop,
               .engine = ports.jobs.engine,
               .jobs = ports.jobs.jobs,
               .open_terminal = ports.open_terminal,
               .still_good = ports.jobs.still_good,
               .between_checks = ports.between_checks}),
      nodes_(*ports.jobs.engine),
      queues_(*ports.jobs.engine, *ports.jobs.jobs, *ports.jobs.factory),
      what_if_(*ports.jobs.engine, *ports.jobs.jobs, *ports.jobs.factory),
      events_(*ports.feed, *ports.jobs.jobs),
      tokens_(*ports.tokens, ports.clock),
      audit_(*ports.audit),
      usage_(*ports.meter, ports.clock),
      health_({.loop = ports.jobs.loop,
               .engine = ports.jobs.engine,
               .journal = ports.journal,
               .jobs = ports.jobs.jobs,
               .feed = ports.feed,
               .server = &server,
               .version = ports.version,
               .commit = ports.commit,
               .settings = ports.settings,
               .checkpoints = ports.checkpoints,
               .patience = ports.patience}) {
  ports.feed->cut_off_unless(ports.jobs.still_good);
  jobs_.declare(server.router());
  attach_.declare(server.router());
  nodes_.declare(server.router());
  queues_.declare(server.router());
  what_if_.declare(server.router());
  events_.declare(server.router());
  tokens_.declare(server.router());
  audit_.declare(server.router());
  usage_.declare(server.router());
  health_.declare();
}

}  // namespace tutti
