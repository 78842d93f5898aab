/// Waits for jobs, for whoever submitted them.
#pragma once

#include <string>

#include "base/result.h"
#include "tutti/client.h"

namespace tutti {

/// The exit code of a job, once it is over: 0 where it succeeded, its own where it has one, else 1.
/// Says on stderr what became of it, unless it succeeded. A server that restarts meanwhile is
/// waited for.
Result<int> await_end(const Client& client, const std::string& job);

/// Prints what the first task of the job prints, until it ends.
Result<void> print_output(const Client& client, const std::string& job);

}  // namespace tutti
