/// /api/v1/nodes: what there is, what of it is free, and which nodes take no new work.
#pragma once

#include "api/engine_thread.h"
#include "api/router.h"

namespace tutti {

class NodeRoutes {
 public:
  explicit NodeRoutes(EngineThread& engine) : engine_(engine) {}
  void declare(Router& router);

 private:
  void list(Call call);
  void cordon(Call call, bool cordoned);

  EngineThread& engine_;
};

}  // namespace tutti
