/// What a role runs, and how it is stopped.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/limits.h"
#include "dialect/tutti_read.h"
#include "format/text.h"

namespace tutti {
namespace {

/// What a program can be asked by; KILL and STOP ask nobody.
constexpr std::array<std::string_view, 9> signals{"TERM", "INT",  "HUP",   "QUIT", "USR1",
                                                  "USR2", "CONT", "WINCH", "ALRM"};

constexpr std::array<Choice<Attended>, 3> attendances{
    {{"no", Attended::no}, {"terminal", Attended::terminal}, {"pipes", Attended::pipes}}};

/// What `tutti run` says; a file has little use for it.
Result<void> read_attended(Reader& reader, LaunchSpec& launch) {
  const std::span<const Choice<Attended>> choices(attendances);
  launch.attended = TRY(reader.optional_choice("attended", choices)).value_or(Attended::no);
  const auto rows = TRY(reader.optional_integer("rows", 0, UINT16_MAX));
  const auto columns = TRY(reader.optional_integer("columns", 0, UINT16_MAX));
  launch.rows = static_cast<std::uint16_t>(rows.value_or(launch.rows));
  launch.columns = static_cast<std::uint16_t>(columns.value_or(launch.columns));
  return {};
}

/// The program and its arguments; a text is a line for the shell.
Result<std::vector<std::string>> read_command(Reader& reader) {
  const Value* const value = TRY(reader.optional_value("command"));
  if (value == nullptr) return std::vector<std::string>{};
  if (value->is(Kind::text)) {
    return std::vector<std::string>{"/bin/sh", "-c", std::string(value->text_value())};
  }
  std::vector<std::string> words;
  if (value->is(Kind::list)) {
    for (const Value& item : value->items()) {
      words.emplace_back(TRY(item.as_text()));
    }
  }
  if (!words.empty() && !words.front().empty()) return words;
  return fail(
      reader.error("command", fmt::format("expected a program, found {}", value->describe()),
                   R"(write command: [python3, train.py], or command: "python3 train.py")"));
}

Result<std::string> read_path(Reader& reader, std::string_view field) {
  std::string path = TRY(reader.optional_text(field)).value_or("");
  if (path.empty() || path.front() == '/') return path;
  return fail(reader.error(field, fmt::format("{} is no absolute path", quote(path)),
                           "a server does not know in which folder you are"));
}

}  // namespace

Result<LaunchSpec> read_launch(Reader& reader) {
  LaunchSpec launch;
  launch.command = TRY(read_command(reader));
  launch.directory = TRY(read_path(reader, "directory"));
  launch.output = TRY(read_path(reader, "output"));
  if (const auto word = TRY(reader.optional_text("stop_signal"))) {
    launch.stop_signal = word->starts_with("SIG") ? word->substr(3) : *word;
    if (std::ranges::find(signals, launch.stop_signal) == signals.end()) {
      return fail(reader.error("stop_signal", fmt::format("no signal {} asks to end", quote(*word)),
                               fmt::format("one of: {}", fmt::join(signals, " "))));
    }
  }
  TRY(read_attended(reader, launch));
  launch.grace = TRY(reader.optional_duration("grace")).value_or(launch.grace);
  if (launch.grace <= Duration::seconds(limits::grace_seconds)) return launch;
  return fail(reader.error("grace", "is longer than a day",
                           "what takes longer to stop cannot make room for others"));
}

Result<std::vector<Variable>> read_environment(Reader& reader) {
  const auto read = [](const std::string& name, const Value& value) -> Result<Variable> {
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != name.npos) {
      return fail(Error{Code::invalid, fmt::format("{} is no name of a variable", quote(name)),
                        value.place().text(), "names are not empty, and have no ="});
    }
    if (value.is(Kind::integer) || value.is(Kind::decimal)) {
      return Variable{name, TRY(value.as_number())};
    }
    return Variable{name, std::string(TRY(value.as_text()))};
  };
  std::vector<Variable> out;
  const Value* const value = TRY(reader.optional_value("environment"));
  if (value == nullptr) return out;
  for (const Value::Member& member : TRY(value->as_map())) {
    out.push_back(TRY(read(member.key, member.value)));
  }
  return out;
}

}  // namespace tutti
