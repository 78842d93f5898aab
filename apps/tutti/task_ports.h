/// What the API is lent of the tasks on this machine: their output, files and terminals.
#pragma once

#include "api/routes.h"
#include "backend/local/local_tasks.h"

namespace tutti {

/// The tasks must outlive the routes.
void lend_tasks(LocalTasks& tasks, AllRoutes::Ports& to);

}  // namespace tutti
