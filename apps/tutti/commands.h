/// The subcommands of `tutti`: one file each, wiring only.
#pragma once

#include <functional>

#include "base/result.h"

namespace CLI {
class App;
}

namespace tutti {

/// What the chosen subcommand does; returns the exit code: 0 done, 1 what was tested does
/// not hold, 2 bad input or the system refused.
using Run = std::function<int()>;

/// What `act` does is what runs where this subcommand was chosen; its error is told.
void on_call(CLI::App& command, Run& run, std::function<Result<void>()> act);

/// Each declares a subcommand and its options; sets `run` when it was the one chosen.
void declare_sim(CLI::App& app, Run& run);
void declare_generate(CLI::App& sim, Run& run);
void declare_chaos(CLI::App& sim, Run& run);
void declare_scenario(CLI::App& sim, Run& run);
void declare_config(CLI::App& app, Run& run);
void declare_catalog(CLI::App& app, Run& run);
void declare_serve(CLI::App& app, Run& run);
void declare_submit(CLI::App& app, Run& run);
void declare_run(CLI::App& app, Run& run);
void declare_jobs(CLI::App& app, Run& run);
void declare_nodes(CLI::App& app, Run& run);
void declare_top(CLI::App& app, Run& run);
void declare_events(CLI::App& app, Run& run);
void declare_queues(CLI::App& app, Run& run);
void declare_token(CLI::App& app, Run& run);
void declare_audit(CLI::App& app, Run& run);
void declare_replay(CLI::App& app, Run& run);
void declare_backup(CLI::App& app, Run& run);
void declare_usage(CLI::App& app, Run& run);
void declare_support_bundle(CLI::App& app, Run& run);
/// Describes the commands that `app` has when it runs.
void declare_completion(CLI::App& app, Run& run);

}  // namespace tutti
