/// tutti completion: scripts for shells, made from the commands themselves.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/registry.h"
#include "tutti/commands.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

/// One command: its path from the root, and the words that may follow.
struct Entry {
  std::string path;  ///< "tutti sim"
  std::vector<std::string> commands;
  std::vector<std::string> options;
};

void collect(const CLI::App& app, const std::string& path, std::vector<Entry>& out) {
  Entry entry{path, {}, {}};
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands) entry.commands.push_back(command->get_name());
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) entry.options.push_back("--" + name);
    for (const std::string& name : option->get_snames()) entry.options.push_back("-" + name);
  }
  out.push_back(std::move(entry));
  for (const CLI::App* command : commands) {
    collect(*command, path + " " + command->get_name(), out);
  }
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : std::string(between)) + word;
  return out;
}

/// What may stand behind options whose values are words; other options take files.
std::string value_cases(std::string_view reply) {
  std::vector<std::string> policies;
  for (const std::string_view name : builtin_policy_names()) policies.emplace_back(name);
  std::string out;
  out += fmt::format(fmt::runtime(reply), "--policy", joined(policies, " "));
  out += fmt::format(fmt::runtime(reply), "--arrivals", "fill:1.3 trace snapshot");
  out += fmt::format(fmt::runtime(reply), "completion", "bash zsh");
  return out;
}

/// The longest known prefix of the words before the cursor names the command.
constexpr std::string_view bash_start = R"(_tutti() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  local path=tutti at words=
  for ((at = 1; at < COMP_CWORD; ++at)); do
    case "$path ${COMP_WORDS[at]}" in
)";
constexpr std::string_view bash_middle = R"(    esac
  done
  COMPREPLY=()
  case "$prev" in
)";
constexpr std::string_view bash_values = R"(  esac
  case "$path" in
)";
constexpr std::string_view bash_end = R"(  esac
  if [[ $cur == -* || $prev != -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
)";

std::string bash_function(const std::vector<Entry>& entries) {
  std::string out(bash_start);
  for (const Entry& entry : entries) {
    if (entry.path != "tutti") out += fmt::format("      '{0}') path='{0}' ;;\n", entry.path);
  }
  out += bash_middle;
  out += value_cases(
      "    {0}) COMPREPLY=($(compgen -W '{1}' -- \"$cur\") $(compgen -f -- \"$cur\"));"
      " return ;;\n");
  out += bash_values;
  for (const Entry& entry : entries) {
    out += fmt::format("    '{}') words='{}' ;;\n", entry.path,
                       joined(entry.commands, " ") + (entry.commands.empty() ? "" : " ") +
                           joined(entry.options, " "));
  }
  return out + std::string(bash_end);
}

std::string bash_script(const std::vector<Entry>& entries) {
  return "# bash completion of tutti: source <(tutti completion bash)\n" + bash_function(entries) +
         "complete -F _tutti tutti\n";
}

/// zsh runs functions for bash through bashcompinit.
std::string zsh_script(const std::vector<Entry>& entries) {
  return "#compdef tutti\n"
         "# zsh completion of tutti: source <(tutti completion zsh)\n"
         "autoload -U +X compinit && compinit -u\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_function(entries) + "complete -F _tutti tutti\n";
}

int complete(const CLI::App& app, const std::string& shell) {
  std::vector<Entry> entries;
  collect(app, "tutti", entries);
  if (shell != "bash" && shell != "zsh") {
    return complain(
        {Code::invalid, "no completion for the shell " + shell, {}, "known: bash, zsh"});
  }
  const Result<void> done = print(shell == "bash" ? bash_script(entries) : zsh_script(entries));
  return done ? 0 : complain(done.error());
}

}  // namespace

void declare_completion(CLI::App& app, Run& run) {
  auto shell = std::make_shared<std::string>();
  CLI::App* completion =
      app.add_subcommand("completion", "Print a script that completes tutti's command lines");
  completion->add_option("SHELL", *shell, "bash or zsh")->required()->type_name("");
  completion->footer(
      "Examples:\n  source <(tutti completion bash)\n"
      "  tutti completion zsh > ~/.zfunc/_tutti");
  completion->callback(
      [shell, &app, &run] { run = [shell, &app] { return complete(app, *shell); }; });
}

}  // namespace tutti
