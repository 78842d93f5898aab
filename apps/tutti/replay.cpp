/// tutti replay: decides anew what a server decided, and compares.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/json_text.h"
#include "policy/policy_file.h"
#include "policy/registry.h"
#include "sched/cycle.h"
#include "sim/files.h"
#include "tutti/checkpoint.h"
#include "tutti/commands.h"
#include "tutti/data_folder.h"
#include "tutti/shown.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

/// Differences that are shown of one plan.
constexpr std::size_t shown_most = 20;

struct ReplayRequest {
  std::string data;
  std::string policy;  ///< Empty: the one that decided.
  JournalRow cycle = 0;
  bool all = false;
};

/// "place task 7.0 on n1, devices 0 1".
std::string line_of(const State& state, const Action& action) {
  std::string out = fmt::format("{} task {}", to_text(action.kind), to_string(action.task));
  if (action.kind != ActionKind::place) return out;
  out += fmt::format(" on {}", state.fleet().node(action.node).name);
  if (action.devices.empty()) return out;
  out += ", devices";
  action.devices.each([&](unsigned ordinal) { out += fmt::format(" {}", ordinal); });
  return out;
}

/// What only one of the two plans does, the first ones of it.
std::string differences(const State& state, const std::vector<Action>& then,
                        const std::vector<Action>& now) {
  std::vector<std::string> lines;
  const auto only = [&](const std::vector<Action>& one, const std::vector<Action>& other,
                        std::string_view when) {
    for (const Action& action : one) {
      if (std::ranges::find(other, action) != other.end()) continue;
      lines.push_back(fmt::format("  {}  {}\n", when, line_of(state, action)));
    }
  };
  only(then, now, "then");
  only(now, then, "now ");
  if (lines.empty()) return "  the same, in another order\n";
  std::string out;
  for (std::size_t at = 0; at < std::min(lines.size(), shown_most); ++at) out += lines[at];
  if (lines.size() > shown_most) out += fmt::format("  and {} more\n", lines.size() - shown_most);
  return out;
}

/// Whom a journal names as having decided, or one policy for all of it.
class Deciders {
 public:
  static Result<Deciders> of(const JournalFile& journal, const std::string& policy) {
    Deciders out;
    std::vector<JournalFile::Decider> known = TRY(journal.deciders());
    // An old version named none; then it was the usual policy, or --policy says which.
    if (known.empty()) known.push_back({.version = {}, .policy = "default", .policy_text = {}});
    std::optional<PolicyRecipe> chosen;
    if (!policy.empty()) chosen = TRY(load_policy(policy));
    for (const JournalFile::Decider& each : known) {
      PolicyRecipe recipe = chosen ? *chosen : TRY(recipe_of(each));
      const std::string version = each.version.empty() ? "an older version" : each.version;
      const std::string who = fmt::format("tutti {}, policy {}", version, each.policy);
      out.all_.push_back({each.first, who, std::make_unique<RecipeFactory>(std::move(recipe))});
    }
    return out;
  }

  struct Each {
    JournalRow first = 0;
    std::string who;                         ///< Decided then.
    std::unique_ptr<RecipeFactory> factory;  ///< Decides now.
  };
  const Each& at(JournalRow row) const {
    const auto after = std::ranges::upper_bound(all_, row, {}, &Each::first);
    return after == all_.begin() ? *after : *std::prev(after);
  }

 private:
  static Result<PolicyRecipe> recipe_of(const JournalFile::Decider& decider) {
    if (decider.policy_text.empty()) return builtin_policy(decider.policy);
    return parse_policy(decider.policy_text);
  }

  std::vector<Each> all_;
};

/// Follows a journal, and decides at each plan in it what it would decide.
class Judge {
 public:
  Judge(const ReplayRequest& options, const Deciders& deciders)
      : options_(options), deciders_(deciders) {}

  /// Before the row is applied.
  void look(JournalRow row, const PlanDecided& plan, const State& state) {
    const Deciders::Each& decider = deciders_.at(row);
    if (factory_ != decider.factory.get()) {
      factory_ = decider.factory.get();
      workspace_.emplace(*factory_);
    }
    const Plan again = Cycle().run(state, *workspace_);
    ++cycles_;
    actions_ += plan.actions.size();
    if (again.actions == plan.actions) return;
    // It believes in a plan that never came.
    workspace_.emplace(*factory_);
    ++others_;
    if (others_ > 1 && options_.all) return;
    first_ =
        fmt::format("cycle {} at {}: another plan than that of {}\n{}", row, rfc3339(state.now()),
                    decider.who, differences(state, plan.actions, again.actions));
  }

  Result<int> report() const {
    if (!options_.all && others_ > 0) {
      TRY(print(first_));
      return 1;
    }
    if (!options_.all) {
      TRY(print(fmt::format("cycle {}: the same plan, bit for bit ({})\n", options_.cycle,
                            counted(actions_, "action"))));
      return 0;
    }
    std::string out =
        fmt::format("{}, {}: ", counted(cycles_, "cycle"), counted(actions_, "action"));
    out += others_ == 0
               ? "all the same, bit for bit\n"
               : fmt::format("{} of them decided otherwise; the first one:\n{}", others_, first_);
    TRY(print(out));
    return others_ == 0 ? 0 : 1;
  }

 private:
  const ReplayRequest& options_;
  const Deciders& deciders_;
  RecipeFactory* factory_ = nullptr;
  std::optional<Workspace> workspace_;
  std::size_t cycles_ = 0;
  std::size_t actions_ = 0;
  std::size_t others_ = 0;
  std::string first_;
};

/// The State before row `first`: with --all, the oldest one that can be had.
Result<State> state_before(JournalFile& journal, const std::string& data, JournalRow first) {
  Shown unused({});
  Restored restored = TRY(restore(journal, checkpoints_of(data), unused, first - 1));
  return std::move(restored.state);
}

/// The row from which on all cycles can be looked at.
JournalRow first_of_all(const JournalFile& journal, const std::string& data) {
  if (journal.first_row() == 1) return 1;
  JournalRow first = journal.rows();
  for (const CheckpointFolder::Found& each : checkpoints_of(data).list()) {
    if (each.row + 1 >= journal.first_row()) first = std::min(first, each.row + 1);
  }
  return first;
}

Result<int> replay(const ReplayRequest& options) {
  const std::string data = options.data.empty() ? usual_data() : options.data;
  const auto journal = TRY(JournalFile::open(journal_of(data), JournalFile::Access::read));
  const Deciders deciders = TRY(Deciders::of(*journal, options.policy));
  if (options.cycle > journal->rows()) {
    return fail(Code::not_found, fmt::format("the journal has {} rows, and no cycle {}",
                                             journal->rows(), options.cycle));
  }
  const JournalRow first = options.all ? first_of_all(*journal, data) : options.cycle;
  const JournalRow last = options.all ? journal->rows() : options.cycle;
  State state = TRY(state_before(*journal, data, first));
  Judge judge(options, deciders);
  std::string other;
  TRY(journal->replay(first, last,
                      [&](JournalRow row, const Event& event, Instant at) -> Result<void> {
                        const auto* const plan = std::get_if<PlanDecided>(&event);
                        if (plan == nullptr && !options.all) other = name_of(event);
                        if (!state.admissible(event)) return {};
                        if (plan != nullptr) judge.look(row, *plan, state);
                        state.apply(event, at);
                        return {};
                      }));
  if (!other.empty()) {
    return fail(Code::not_found, fmt::format("row {} is no cycle: it is {}", options.cycle, other),
                "a cycle is known by the row of its plan; --all looks at every one");
  }
  return judge.report();
}

}  // namespace

void declare_replay(CLI::App& app, Run& run) {
  auto options = std::make_shared<ReplayRequest>();
  CLI::App* command =
      app.add_subcommand("replay", "Decide anew what a server decided, and compare");
  command->add_option("--data", options->data, "Folder of all that the server keeps")
      ->type_name("FOLDER")
      ->take_last();
  CLI::Option* const cycle =
      command->add_option("--cycle", options->cycle, "The row of the journal with its plan")
          ->type_name("N")
          ->take_last();
  CLI::Option* const all =
      command->add_flag("--all", options->all, "Every cycle that the journal has");
  cycle->excludes(all);
  command
      ->add_option("--policy", options->policy,
                   "A built-in policy or a file, instead of the one that decided")
      ->type_name("NAME|FILE")
      ->take_last();
  command->footer(
      "Beside a server that runs, or without one. Exit codes: 0 the same plan; 1 another one.\n"
      "Examples:\n  tutti replay --all\n  tutti replay --cycle 4711 --policy fgd");
  command->callback([options, &run] {
    run = [options] {
      if (options->cycle == 0 && !options->all) {
        return complain({Code::invalid, "which cycle?", {}, "--cycle N for one, --all for all"});
      }
      const Result<int> done = replay(*options);
      return done ? *done : complain(done.error());
    };
  });
}

}  // namespace tutti
