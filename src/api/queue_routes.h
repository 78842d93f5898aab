/// /api/v1/queues: the tree of queues, what each may use and uses, and changes of it.
#pragma once

#include <string>

#include "api/engine_thread.h"
#include "api/job_table.h"
#include "api/router.h"

namespace tutti {

class PolicyFactory;

class QueueRoutes {
 public:
  /// All of it must outlive the routes.
  QueueRoutes(EngineThread& engine, const JobTable& jobs, const PolicyFactory& factory)
      : engine_(engine), jobs_(jobs), factory_(factory) {}
  void declare(Router& router);

 private:
  void list(Call call);
  void show(Call call, int status);
  void set(Call call);
  void keep(Call call, QueueSpec queue, bool is_new);

  EngineThread& engine_;
  const JobTable& jobs_;
  const PolicyFactory& factory_;
};

}  // namespace tutti
