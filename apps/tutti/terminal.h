/// What all subcommands say to a terminal.
#pragma once

#include <string_view>

#include "base/result.h"
#include "sim/comparison.h"

namespace CLI {
class App;
}

namespace tutti {

/// Prints the error; the exit code of every error, 2.
int complain(const Error& error);

/// Gives every option that takes a value a check: it is not empty, and N is a natural number.
void check_values(CLI::App& app);

/// Prints what is left of a wrong command line, with the nearest known word; 2.
int complain_usage(const CLI::App& app, std::string_view what);

/// "  37 of 720 runs, about 12 s left", on a terminal only, rewritten in place.
Progress progress_line();

/// Prints text; false where it could not be written, on a full disk for example.
Result<void> print(std::string_view text);

}  // namespace tutti
