/// What all subcommands say to a terminal.
#pragma once

#include <string_view>

#include "base/result.h"
#include "sim/comparison.h"

namespace CLI {
class App;
}

namespace tutti {

/// Prints the error; the exit code that it deserves: 1 the system refused, 2 bad input.
int complain(const Error& error);

/// Prints what is left of a wrong command line, with the nearest known word; 2.
int complain_usage(const CLI::App& app, std::string_view what);

/// "  37 of 720 runs, about 12 s left", on a terminal only, rewritten in place.
Progress progress_line();

/// Prints text; false where it could not be written, on a full disk for example.
Result<void> print(std::string_view text);

}  // namespace tutti
