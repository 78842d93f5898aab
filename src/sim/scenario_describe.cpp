#include "sim/scenario_describe.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "dialect/mentions.h"
#include "dialect/names.h"
#include "dialect/tutti_read.h"
#include "format/text.h"
#include "policy/policy_file.h"

namespace tutti {
namespace {

/// First words of expectations about other things than tasks.
constexpr std::array<std::string_view, 7> reserved{"explain",   "free",    "used",  "placements",
                                                   "evictions", "refused", "replay"};

/// Exactly one word behind the verb.
Result<ScenarioWord> name_of(const Statement& statement, std::string_view example) {
  if (statement.words.size() == 2) return statement.words[1];
  const std::string_view verb = statement.words.front().text;
  if (statement.words.size() < 2) {
    return fail(wrong_at(statement, fmt::format("{} needs a name", verb),
                         fmt::format("for example: {}", example)));
  }
  return fail(wrong_at(statement.words[2],
                       fmt::format("{} is one word too many", quote(statement.words[2].text)),
                       fmt::format("fields stand behind a colon: {}", example)));
}

/// The fields of the statement, its name first.
Result<Value> named_fields(const Statement& statement, const ScenarioWord& name) {
  Value::Map first;
  first.push_back({"name", name.place, Value::text(std::string(name.text), name.place)});
  return fields_of(statement, std::move(first));
}

Value map_of(std::string key, Value value) {
  const Place place = value.place();
  Value::Map members;
  members.push_back({std::move(key), place, std::move(value)});
  return Value::map(std::move(members), place);
}

Error odd_name(Reader& reader, std::string_view name) {
  return reader.error("name", fmt::format("a scenario cannot name {}", quote(name)),
                      "letters, digits and - _ . / are plain");
}

void set_amount(std::vector<NamedAmount>& amounts, const NamedAmount& amount) {
  const auto at = std::ranges::lower_bound(amounts, amount.name, {}, &NamedAmount::name);
  if (at != amounts.end() && at->name == amount.name) {
    at->amount = amount.amount;
  } else {
    amounts.insert(at, amount);
  }
}

/// Lays the fields that were written over what is known of the node.
void lay_over(const Value& written, const NodeSpec& fresh, NodeSpec& node) {
  const auto has = [&](std::string_view field) { return written.find(field) != nullptr; };
  for (const NamedAmount& amount : fresh.capacity) set_amount(node.capacity, amount);
  for (const Label& label : fresh.labels.all()) node.labels.set(label.key, label.value);
  if (has("gpus") || has("devices")) node.devices = fresh.devices;
  if (has("taints")) node.taints = fresh.taints;
  if (has("stack")) node.stack = fresh.stack;
  if (has("cordoned")) node.cordoned = fresh.cordoned;
  if (has("pool")) node.pool = fresh.pool;
}

/// A word that is none of these labels.
Error no_label(const Value& key, const std::set<std::string_view>& labels) {
  const std::string_view word = key.text_value();
  const std::vector<std::string_view> known(labels.begin(), labels.end());
  std::string hint = known.empty() ? "they have no labels" : did_you_mean(word, known);
  if (word == "cordoned") {
    hint = "write: cordoned false; an operator's cordon is undone with: uncordon NODES";
  }
  return {Code::not_found, fmt::format("no: none of these nodes has a label {}", quote(word)),
          key.place().text(), std::move(hint)};
}

/// "no rack", "no [rack, zone]": labels that go; some of the nodes must have them.
Result<std::vector<std::string>> removed_labels(const Value& fields,
                                                const std::set<std::string_view>& labels) {
  std::vector<std::string> out;
  const Value* const removed = fields.find("no");
  if (removed == nullptr) return out;
  for (const Value& key : one_or_many(*removed)) {
    Result<std::string_view> text = key.as_text();
    if (!text) return fail(at_value(std::move(text).error(), "no", key));
    if (!labels.contains(*text)) return fail(no_label(key, labels));
    out.emplace_back(*text);
  }
  return out;
}

Value without(const Value& map, std::string_view key) {
  Value::Map members;
  for (const Value::Member& member : map.members()) {
    if (member.key != key) members.push_back({member.key, member.place, member.value.copy()});
  }
  return Value::map(std::move(members), map.place());
}

std::vector<std::string> roles_of(const JobSpec& spec) {
  std::vector<std::string> out;
  for (const auto& gang : spec.gangs) {
    for (std::uint32_t copy = 0; copy < gang->copies; ++copy) {
      for (const GroupSpec& group : gang->groups) {
        for (std::uint32_t twin = 0; twin < group.copies; ++twin) {
          for (const RoleSpec& role : group.roles) out.insert(out.end(), role.count, role.name);
        }
      }
    }
  }
  return out;
}

}  // namespace

// --- Nodes --------------------------------------------------------------------------------------

Result<bool> ScenarioDescriptions::add_node(Reader& reader, ScenarioStep& step) {
  const std::string pattern = TRY(reader.required_text("name"));
  const auto expanded = expand_names(pattern, scenario_nodes);
  if (!expanded) return fail(reader.error("name", expanded.error().what, expanded.error().hint));
  if (names_.nodes.size() + expanded->size() > scenario_nodes) {
    return fail(
        reader.error("name", fmt::format("a scenario has at most {} nodes", scenario_nodes)));
  }
  std::vector<NodeSpec> nodes;
  TRY(node_reader_.read(reader, nodes));
  for (NodeSpec& node : nodes) {
    if (!plain_name(node.name)) return fail(odd_name(reader, node.name));
    if (!names_.nodes.emplace(node.name, node).second) {
      return fail(reader.error("name", fmt::format("node {} is there already", quote(node.name)),
                               "to describe it anew: change NODE: FIELD VALUE"));
    }
    add_levels(node);
    step.events.emplace_back(NodeReported{std::move(node)});
  }
  return true;
}

void ScenarioDescriptions::declare(std::vector<TreeSpec> trees, ScenarioStep& step) {
  for (const TreeSpec& tree : trees) levels_.insert(tree.levels.begin(), tree.levels.end());
  step.events.emplace_back(TreesDeclared{std::move(trees)});
}

void ScenarioDescriptions::add_levels(const NodeSpec& node) {
  for (const Label& label : node.labels.all()) levels_.insert(label.key);
}

Result<void> ScenarioDescriptions::check_levels() const {
  for (const Mention& mention : mentions_) {
    if (mention.of != Mention::Of::level || levels_.contains(mention.name)) continue;
    const std::vector<std::string_view> known(levels_.begin(), levels_.end());
    return fail(Error{Code::not_found,
                      fmt::format("{} is no level: no node ever has a label that is called so",
                                  quote(mention.name)),
                      mention.where, did_you_mean(mention.name, known)});
  }
  return {};
}

Result<void> ScenarioDescriptions::nodes(const Statement& statement, ScenarioStep& step) {
  const ScenarioWord name = TRY(name_of(statement, "nodes n[0-3]: 8xA100-80G, cpu 64"));
  const Value fields = TRY(named_fields(statement, name));
  TRY(decode(fields, "", [&](Reader& reader) { return add_node(reader, step); }));
  return {};
}

Result<void> ScenarioDescriptions::fleet(const Statement& statement, ScenarioStep& step) {
  if (statement.words.size() > 1) {
    return fail(wrong_at(statement.words[1], "a fleet has no name here"));
  }
  const Value fields = TRY(fields_of(statement, {}));
  const auto read = [&](Reader& reader) -> Result<bool> {
    std::vector<TreeSpec> trees = TRY(read_topology(reader));
    if (!trees.empty()) declare(std::move(trees), step);
    TRY(reader.list("nodes", [&](Reader& entry) { return add_node(entry, step); }));
    const std::vector<QueueSpec> queues = TRY(read_queues(reader));
    if (const Value* const list = fields.find("queues"); list != nullptr) {
      for (const Value& entry : TRY(list->as_list())) {
        queue_entries_.push_back(entry.copy());
        quotas_.push_back(entry.copy());
      }
    }
    TRY(set_queues(queues, step));
    return true;
  };
  TRY(decode(fields, "", read));
  return {};
}

Result<void> ScenarioDescriptions::change(const Statement& statement, ScenarioStep& step) {
  const ScenarioWord name = TRY(name_of(statement, "change n0: cpu 32, rack=r1"));
  const std::vector<std::string> nodes = TRY(names_.nodes_of(name));
  const Value fields = TRY(fields_of(statement, {}));
  std::set<std::string_view> labels;
  for (const std::string& node : nodes) {
    for (const Label& label : names_.nodes.find(node)->second.labels.all()) {
      labels.insert(label.key);
    }
  }
  const std::vector<std::string> removed = TRY(removed_labels(fields, labels));
  for (const std::string& node : nodes) {
    Value::Map first;
    first.push_back({"name", name.place, Value::text(node, name.place)});
    const Value rest = without(fields, "no");
    for (const Value::Member& member : rest.members()) {
      first.push_back({member.key, member.place, member.value.copy()});
    }
    const Value whole = TRY(map_without_duplicates(std::move(first), fields.place()));
    std::vector<NodeSpec> fresh;
    NodeReader reader(catalog_);
    const auto read = [&](Reader& inner) -> Result<bool> {
      TRY(reader.read(inner, fresh));
      return true;
    };
    TRY(decode(whole, "", read));
    NodeSpec& known = names_.nodes.find(node)->second;
    lay_over(rest, fresh.front(), known);
    add_levels(known);
    for (const std::string& key : removed) known.labels.erase(key);
    step.events.emplace_back(NodeReported{known});
  }
  return {};
}

Result<void> ScenarioDescriptions::topology(const Statement& statement, ScenarioStep& step) {
  Value::List levels;
  for (const ScenarioWord& word : std::span(statement.words).subspan(1)) {
    const std::string_view level = word.text.substr(0, word.text.find(','));
    levels.push_back(Value::text(std::string(level), word.place));
  }
  if (levels.empty()) {
    return fail(wrong_at(statement, "topology names no level", "for example: topology zone, rack"));
  }
  const Place place = levels.front().place();
  const Value fields = map_of("topology", Value::list(std::move(levels), place));
  const auto read = [](Reader& reader) { return read_topology(reader); };
  declare(TRY(decode(fields, "", read)), step);
  return {};
}

// --- Queues, jobs, policies ---------------------------------------------------------------------

Result<void> ScenarioDescriptions::set_queues(const std::vector<QueueSpec>& queues,
                                              ScenarioStep& step) {
  for (const QueueSpec& queue : queues) {
    const auto known = queues_.find(queue.name);
    if (known != queues_.end() && known->second == queue) continue;
    queues_[queue.name] = queue;
    names_.queues.insert(queue.name);
    step.events.emplace_back(QueueSet{queue});
  }
  return {};
}

Result<void> ScenarioDescriptions::queue(const Statement& statement, ScenarioStep& step) {
  const ScenarioWord name = TRY(name_of(statement, "queue research: limit gpu=64"));
  Value fields = TRY(named_fields(statement, name));
  std::erase_if(queue_entries_, [&](const Value& entry) {
    const Value* const other = entry.find("name");
    return other != nullptr && other->is(Kind::text) && other->text_value() == name.text;
  });
  quotas_.push_back(fields.copy());
  queue_entries_.push_back(std::move(fields));
  // The reader sees all queues so far, for their parents.
  Value::List entries;
  for (const Value& entry : queue_entries_) entries.push_back(entry.copy());
  const Value all = map_of("queues", Value::list(std::move(entries), name.place));
  const auto read = [](Reader& reader) { return read_queues(reader); };
  return set_queues(TRY(decode(all, "", read)), step);
}

Result<void> ScenarioDescriptions::mix(const Statement& statement) {
  if (statement.words.size() > 1) {
    return fail(wrong_at(statement.words[1], "what a typical task asks for stands behind a colon",
                         "for example: mix: 1 gpu, cpu 4, weight 3"));
  }
  const Value fields = TRY(fields_of(statement, {}));
  const auto read = [this](Reader& reader) { return read_mix_entry(reader, catalog_); };
  mix_.push_back(TRY(decode(fields, "", read)));
  return {};
}

Result<void> ScenarioDescriptions::submit(const Statement& statement, ScenarioStep& step) {
  const ScenarioWord name = TRY(name_of(statement, "submit train: 4 tasks, 8xA100-80G, cpu 16"));
  const Value fields = TRY(named_fields(statement, name));
  const auto read = [this](Reader& reader) -> Result<JobEntry> {
    JobEntry job = TRY(read_job(reader, scenario_jobs - specs_.size(), catalog_));
    for (const std::string& each : job.names) {
      if (!plain_name(each)) return fail(odd_name(reader, each));
    }
    if (job.at == Duration{} && job.every == Duration{}) return job;
    return fail(reader.error(job.at == Duration{} ? "every" : "at",
                             "a scenario has a clock of its own", "write: advance 10m"));
  };
  if (specs_.size() == scenario_jobs) {
    return fail(wrong_at(name, fmt::format("a scenario has at most {} jobs", scenario_jobs)));
  }
  const JobEntry entry = TRY(decode(fields, "", read));
  std::ranges::move(mentions_of_job(fields), std::back_inserter(mentions_));
  const std::vector<std::string> roles = roles_of(entry.spec);
  tasks_ += roles.size() * entry.names.size();
  if (tasks_ > scenario_tasks) {
    return fail(wrong_at(name, fmt::format("more than {} tasks in one scenario", scenario_tasks)));
  }
  std::vector<Dependency> after;
  for (const NamedDependency& each : entry.after) {
    const auto other = names_.jobs.find(each.job);
    if (other == names_.jobs.end()) {
      return fail(wrong_at(
          name, fmt::format("it waits for job {}, which is not described above", quote(each.job))));
    }
    after.push_back({other->second, each.on});
  }
  for (const std::string& job : entry.names) {
    const JobId id(specs_.size());
    if (std::ranges::find(reserved, job) != reserved.end()) {
      return fail(wrong_at(name, fmt::format("{} is a word of expectations", quote(job)),
                           "call the job otherwise"));
    }
    if (!names_.jobs.emplace(job, id).second) {
      return fail(wrong_at(name, fmt::format("job {} was submitted already", quote(job))));
    }
    names_.roles.push_back(roles);
    specs_.push_back(std::make_shared<JobSpec>(entry.spec));
    specs_.back()->name = job;
    specs_.back()->rules.after = after;
    jobs_.push_back({.name = job,
                     .spec = nullptr,
                     .length = entry.length,
                     .tasks = static_cast<std::uint32_t>(roles.size())});
    step.events.emplace_back(JobSubmitted{id, nullptr});
  }
  return {};
}

Result<PolicyRecipe> ScenarioDescriptions::policy(const Statement& statement) const {
  if (statement.block_lines == 0) {
    const ScenarioWord name = TRY(name_of(statement, "policy pack"));
    Result<PolicyRecipe> recipe = builtin_policy(name.text);
    if (!recipe) return fail(wrong_at(name, recipe.error().what, recipe.error().hint));
    return recipe;
  }
  if (statement.words.size() > 1) {
    return fail(wrong_at(statement.words[1], "a policy with fields has its name among them"));
  }
  Result<PolicyRecipe> recipe = parse_policy(statement.block);
  if (recipe) return recipe;
  return fail(moved(std::move(recipe).error(), Place{statement.block_line, 1}));
}

Result<void> ScenarioDescriptions::finish(Scenario& scenario) {
  TRY(check_levels());
  if (!quotas_.empty()) {
    std::vector<NodeSpec> nodes;
    for (const auto& [name, node] : names_.nodes) nodes.push_back(node);
    const Place place = quotas_.front().place();
    const Value all = map_of("queues", Value::list(std::move(quotas_), place));
    TRY(check_quotas(all, resources_of(nodes)));
  }
  give_labels(specs_, TaskLabels::selected);
  std::vector<Submission> submissions;
  for (std::size_t at = 0; at < specs_.size(); ++at) {
    jobs_[at].spec = specs_[at];
    submissions.push_back({.spec = specs_[at], .at = {}, .length = {}});
  }
  for (ScenarioStep& step : scenario.steps) {
    for (Event& event : step.events) {
      auto* const submitted = std::get_if<JobSubmitted>(&event);
      if (submitted != nullptr) submitted->spec = jobs_[submitted->id.value()].spec;
    }
  }
  scenario.jobs = std::move(jobs_);
  if (mix_.empty() && !scenario.policy.learn_mix) mix_ = mix_of(submissions);
  if (mix_.empty()) return {};
  ScenarioStep first{.verb = Verb::tell, .line = 1, .text = {}};
  first.events.emplace_back(MixSet{std::move(mix_)});
  scenario.steps.insert(scenario.steps.begin(), std::move(first));
  return {};
}

}  // namespace tutti
