/// /api/v1/queues: the tree of queues, what each may use and uses, and changes of it.
#pragma once

#include <string>

#include "api/engine_thread.h"
#include "api/router.h"

namespace tutti {

class PolicyFactory;

class QueueRoutes {
 public:
  /// Both must outlive the routes.
  QueueRoutes(EngineThread& engine, const PolicyFactory& factory)
      : engine_(engine), factory_(factory) {}
  void declare(Router& router);

 private:
  void list(Call call);
  void show(Call call, int status);
  void set(Call call);
  void keep(Call call, QueueSpec queue, bool is_new);

  EngineThread& engine_;
  const PolicyFactory& factory_;
};

}  // namespace tutti
