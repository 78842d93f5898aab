/// How a server starts a keeper.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "backend/local/keeper.h"
#include "base/result.h"

namespace tutti {

/// Starts a keeper of the task folder and returns its process, a child of ours.
using SpawnKeeper = std::function<Result<pid_t>(const std::string& folder)>;

/// This program again, as `keeper FOLDER`: in a session of its own, with no descriptor of ours, and
/// deaf to signals until it listens. Returns once it is executed; copies no memory.
Result<pid_t> spawn_keeper(const std::string& folder);

}  // namespace tutti
