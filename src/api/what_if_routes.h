/// POST /api/v1/whatif: which jobs would start if the fleet were another one. Changes nothing.
#pragma once

#include "api/engine_thread.h"
#include "api/job_table.h"
#include "api/router.h"

namespace tutti {

class PolicyFactory;

class WhatIfRoutes {
 public:
  /// All of it must outlive the routes.
  WhatIfRoutes(EngineThread& engine, const JobTable& jobs, const PolicyFactory& factory)
      : engine_(engine), jobs_(jobs), factory_(factory) {}
  void declare(Router& router);

 private:
  void answer(Call call);

  EngineThread& engine_;
  const JobTable& jobs_;
  const PolicyFactory& factory_;
};

}  // namespace tutti
