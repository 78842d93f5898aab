#include "api/routes.h"

namespace tutti {

AllRoutes::AllRoutes(Server& server, const Ports& ports)
    : jobs_(ports.jobs),
      attach_({.loop = ports.jobs.loop,
               .engine = ports.jobs.engine,
               .jobs = ports.jobs.jobs,
               .open_terminal = ports.open_terminal}),
      nodes_(*ports.jobs.engine),
      queues_(*ports.jobs.engine, *ports.jobs.factory),
      events_(*ports.feed, *ports.jobs.jobs),
      tokens_(*ports.tokens, ports.clock),
      audit_(*ports.audit),
      health_({.loop = ports.jobs.loop,
               .engine = ports.jobs.engine,
               .journal = ports.journal,
               .jobs = ports.jobs.jobs,
               .feed = ports.feed,
               .server = &server,
               .version = ports.version,
               .commit = ports.commit,
               .patience = ports.patience}) {
  jobs_.declare(server.router());
  attach_.declare(server.router());
  nodes_.declare(server.router());
  queues_.declare(server.router());
  events_.declare(server.router());
  tokens_.declare(server.router());
  audit_.declare(server.router());
  health_.declare();
}

}  // namespace tutti
