/// /api/v1/nodes: what there is, what of it is free, and which nodes take no new work.
#pragma once

#include <string_view>

#include "api/engine_thread.h"
#include "api/router.h"

namespace tutti {

class NodeRoutes {
 public:
  explicit NodeRoutes(EngineThread& engine) : engine_(engine) {}
  void declare(Router& router);

 private:
  void list(Call call);
  /// `word`: cordon, uncordon or drain.
  void set(Call call, std::string_view word);

  EngineThread& engine_;
};

}  // namespace tutti
