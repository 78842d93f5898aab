/// What all subcommands say to a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/comparison.h"

namespace CLI {
class App;
}

namespace tutti {

/// "1 node", "2 nodes".
std::string counted(std::size_t count, std::string_view noun);

/// Prints the error; the exit code of every error, 2.
int complain(const Error& error);

/// Gives every option that takes a value a check: it is not empty, and N is a natural number.
void check_values(CLI::App& app);

/// `--catalog FILE`: devices of one's own. One value at a time, so that a name may follow.
void declare_own_devices(CLI::App& app, std::vector<std::string>& files);

/// Prints what is left of a wrong command line, with the nearest known word; 2.
int complain_usage(const CLI::App& app, std::string_view what);

/// "  37 of 720 runs, about 12 s left", on a terminal only, rewritten in place.
Progress progress_line();

/// Says on stderr what was left out, with the first reasons.
void tell_skipped(const Skipped& skipped);

/// Says on stderr what is odd about files, though it may be meant.
void tell_odd(const std::vector<Error>& odd);

/// Prints text; false where it could not be written, on a full disk for example. Where nobody reads
/// it any more, the process ends as others do there: silently, by SIGPIPE.
Result<void> print(std::string_view text);

}  // namespace tutti
