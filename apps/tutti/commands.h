/// The subcommands of `tutti`: one file each, wiring only.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace tutti {

/// What the chosen subcommand does; returns the exit code: 0 done, 1 it failed, 2 bad input.
using Run = std::function<int()>;

/// Declares a subcommand and its options; sets `run` when it was the one chosen.
void declare_sim(CLI::App& app, Run& run);

}  // namespace tutti
