#include "tutti/terminal.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "format/text.h"
#include "tutti/commands.h"

namespace tutti {
namespace {

/// The subcommand that was reached, by the words "tutti sim".
struct Reached {
  const CLI::App* app = nullptr;
  std::string words;
};

Reached reached(const CLI::App& app) {
  Reached out{&app, app.get_name()};
  for (;;) {
    const auto chosen = out.app->get_subcommands();
    if (chosen.empty()) return out;
    out.app = chosen.front();
    out.words += " " + out.app->get_name();
  }
}

std::vector<std::string> known_words(const CLI::App& app, bool options) {
  std::vector<std::string> words;
  if (options) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
      for (const std::string& name : option->get_snames()) words.push_back("-" + name);
    }
  } else {
    for (const CLI::App* command : app.get_subcommands({})) words.push_back(command->get_name());
  }
  return words;
}

/// Every command below `app`, by the words "tutti sim generate".
void collect(const CLI::App& app, const std::string& words, std::vector<Reached>& out) {
  for (const CLI::App* command : app.get_subcommands({})) {
    const std::string below = words + " " + command->get_name();
    out.push_back({command, below});
    collect(*command, below, out);
  }
}

/// The command that is called so, or nearly so, wherever it stands; empty when there is none.
std::string command_elsewhere(const CLI::App& app, const std::string& word) {
  std::vector<Reached> all;
  collect(app, app.get_name(), all);
  std::vector<std::string> names;
  for (const Reached& each : all) names.push_back(each.app->get_name());
  const auto near = closest(word, std::vector<std::string_view>(names.begin(), names.end()));
  if (!near) return {};
  return all[static_cast<std::size_t>(std::ranges::find(names, *near) - names.begin())].words;
}

}  // namespace

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

int complain(const Error& error) {
  std::fputs(error.text().c_str(), stderr);
  return 2;
}

void on_call(CLI::App& command, Run& run, std::function<Result<void>()> act) {
  command.callback([act = std::move(act), &run] {
    run = [act] {
      const Result<void> done = act();
      return done ? 0 : complain(done.error());
    };
  });
}

void check_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // A flag.
    const bool number = option->get_type_name() == "N";
    option->check([number](const std::string& text) -> std::string {
      if (text.empty()) return "the value is empty";
      if (!number) return {};
      if (text.find_first_not_of("0123456789") != text.npos) {
        return quote(text) + " is no natural number";
      }
      std::uint64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      return error == std::errc() ? "" : quote(text) + " is too large";
    });
  }
  for (CLI::App* command : app.get_subcommands({})) check_values(*command);
}

void declare_own_devices(CLI::App& app, std::vector<std::string>& files) {
  app.add_option("--catalog", files, "Devices of your own (docs/catalog.md); may repeat")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

int complain_usage(const CLI::App& app, std::string_view what) {
  const Reached at = reached(app);
  const std::vector<std::string> rest = at.app->remaining();
  Error error{Code::invalid, std::string(what), {}, at.words + " --help"};
  if (rest.empty() && at.app->get_require_subcommand_min() > 0) {
    const std::vector<std::string> commands = known_words(*at.app, false);
    const std::vector<std::string_view> views(commands.begin(), commands.end());
    error.what = at.words + " needs a command";
    error.hint = fmt::format("known: {}; {} --help explains them", join_names(views), at.words);
  }
  if (!rest.empty()) {
    const std::string word = rest.front().substr(0, rest.front().find('='));
    const bool option = word.starts_with("-");
    const std::vector<std::string> known = known_words(*at.app, option);
    const std::vector<std::string_view> views(known.begin(), known.end());
    error.what = fmt::format("{} has no {} {}", at.words,
                             option          ? "option"
                             : known.empty() ? "argument"
                                             : "command",
                             quote(word));
    const auto near = closest(word, views);
    if (word == "help" || word == "version") {
      error.hint = fmt::format("{} --{}", word == "help" ? at.words : app.get_name(), word);
    } else if (near) {
      error.hint = fmt::format("did you mean {}?", *near);
    } else if (const std::string other = option ? "" : command_elsewhere(app, word);
               !other.empty() && !known.empty()) {
      error.hint = fmt::format("did you mean {}?", other);
    } else if (!option && !known.empty()) {
      error.hint = "known: " + join_names(views);
    }
  }
  return complain(error);
}

Progress progress_line() {
  if (::isatty(STDERR_FILENO) == 0) return {};
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  return [begin, last = Clock::time_point{}](std::size_t done, std::size_t all) mutable {
    const auto now = Clock::now();
    if (done == all) {
      std::fputs("\r\x1b[K", stderr);
      return;
    }
    if (now - last < std::chrono::milliseconds(100)) return;
    last = now;
    const std::chrono::duration<double> took = now - begin;
    const double left = took.count() / static_cast<double>(done) * static_cast<double>(all - done);
    std::fputs(fmt::format("\r\x1b[K{} of {} runs, about {:.0f} s left", done, all, left).c_str(),
               stderr);
    std::fflush(stderr);
  };
}

void tell_skipped(const Skipped& skipped) {
  std::string text;
  for (const Error& error : skipped.errors) {
    text += fmt::format("skipped: {}: {}\n", error.where, error.what);
  }
  if (skipped.lines > skipped.errors.size()) {
    text += fmt::format("skipped: and {} more\n", skipped.lines - skipped.errors.size());
  }
  std::fputs(text.c_str(), stderr);
}

void tell_odd(const std::vector<Error>& odd) {
  constexpr std::size_t told = 10;
  std::string text;
  for (const Error& each : std::span(odd).first(std::min(odd.size(), told))) {
    text += fmt::format("note: {}: {}; {}\n", each.where, each.what, each.hint);
  }
  if (odd.size() > told) text += fmt::format("note: and {} more\n", odd.size() - told);
  std::fputs(text.c_str(), stderr);
}

Result<void> print(std::string_view text) {
  const bool good =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (good) return {};
  if (errno == EPIPE) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  return fail({.code = Code::io,
               .what = "cannot write: " + std::string(std::strerror(errno)),
               .where = "standard output",
               .hint = {}});
}

}  // namespace tutti
