/// Topology trees and the tree of queues in Tutti's YAML.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/limits.h"
#include "dialect/names.h"
#include "dialect/tutti.h"
#include "dialect/tutti_fleet.h"
#include "dialect/tutti_read.h"
#include "format/text.h"

namespace tutti {
namespace {

/// Of one tree, and trees of one file; data centres have fewer than ten.
constexpr std::size_t levels_max = 64;

Result<TreeSpec> tree_of(std::string name, const Value& value, const std::string& path) {
  TreeSpec tree{.name = std::move(name), .levels = {}};
  Result<std::span<const Value>> items = value.as_list();
  if (!items) return fail(at_value(std::move(items).error(), path, value));
  if (items->size() > levels_max) {
    return fail(
        at_value({Code::limit,
                  fmt::format("{} levels; at most {} are possible", items->size(), levels_max),
                  {},
                  {}},
                 path, value));
  }
  for (const Value& item : *items) {
    Result<std::string_view> level = item.as_text();
    if (!level) return fail(at_value(std::move(level).error(), path, item));
    if (std::ranges::find(tree.levels, *level) != tree.levels.end()) {
      return fail(at_value({Code::invalid,
                            fmt::format("level {} lies inside itself", quote(*level)),
                            {},
                            "each label once, the widest first"},
                           path, item));
    }
    tree.levels.emplace_back(*level);
  }
  if (!tree.levels.empty()) return tree;
  return fail(
      at_value({Code::invalid, "a tree has at least one level", {}, "for example: [zone, rack]"},
               path, value));
}

/// A level that lies, over several trees, above itself; nullopt when there is none.
std::optional<std::string> circular_level(const std::vector<TreeSpec>& trees) {
  std::map<std::string, std::set<std::string>> above;
  for (const TreeSpec& tree : trees) {
    for (std::size_t at = 0; at < tree.levels.size(); ++at) {
      std::set<std::string>& wider = above[tree.levels[at]];
      if (at > 0) wider.insert(tree.levels[at - 1]);
    }
  }
  // Take away levels with nothing above them, until none is left or a circle is.
  while (!above.empty()) {
    const auto top =
        std::ranges::find_if(above, [](const auto& entry) { return entry.second.empty(); });
    if (top == above.end()) return above.begin()->first;
    const std::string level = top->first;
    above.erase(top);
    for (auto& [name, wider] : above) wider.erase(level);
  }
  return std::nullopt;
}

struct QueueEntry {
  QueueSpec spec;
  std::string parent;
  std::vector<QueueEntry> children;
};

Result<std::uint32_t> read_queue_weight(Reader& reader) {
  return static_cast<std::uint32_t>(
      TRY(reader.optional_integer("weight", 1, 1'000'000)).value_or(1));
}

/// Accelerators are counted whole in quotas, and kept in thousandths.
Result<std::vector<NamedAmount>> read_quota(Reader& reader, std::string_view field) {
  constexpr std::int64_t gpus_max = std::int64_t{limits::nodes} * limits::devices_per_node;
  std::vector<NamedAmount> out = TRY(read_amount_map(reader, field));
  for (const NamedAmount& part : out) {
    if (part.name != "gpu" || part.amount <= gpus_max) continue;
    return fail(
        reader.error(field, fmt::format("{} gpu are more than any fleet has", part.amount)));
  }
  return out;
}

Result<QueueEntry> read_queue(Reader& reader) {
  QueueEntry queue;
  queue.spec.name = TRY(read_name(reader, "name"));
  const std::string& name = queue.spec.name;
  if (name.starts_with('/') || name.ends_with('/') || name.find("//") != std::string::npos) {
    return fail(reader.error("name", fmt::format("{} has an empty part", quote(name))));
  }
  queue.parent = TRY(reader.optional_text("parent")).value_or("");
  queue.spec.weight = TRY(read_queue_weight(reader));
  queue.spec.limit = TRY(read_quota(reader, "limit"));
  queue.spec.guarantee = TRY(read_quota(reader, "guarantee"));
  // One level of the text is one of the tree, and the parser bounds the depth of the text.
  queue.children = TRY(reader.list("queues", read_queue));
  for (const QueueEntry& child : queue.children) {
    if (child.parent.empty()) continue;
    return fail(reader.error("queues",
                             fmt::format("queue {} has a parent already", quote(child.spec.name)),
                             "leave out \"parent\" where queues are nested"));
  }
  return queue;
}

Result<void> check_quota(const Value& queue, std::string_view field, const std::string& path,
                         const std::set<std::string_view>& resources) {
  const Value* const quota = queue.find(field);
  if (quota == nullptr || !quota->is(Kind::map)) return {};
  for (const Value::Member& member : quota->members()) {
    if (member.key == "gpu" || resources.contains(member.key)) continue;
    std::vector<std::string_view> known{"gpu"};
    known.insert(known.end(), resources.begin(), resources.end());
    return fail(Error{Code::not_found,
                      fmt::format("{}.{}: no node has {}", path, field, quote(member.key)),
                      member.place.text(), did_you_mean(member.key, known)});
  }
  return {};
}

/// The queues of a document, or below another queue.
Result<void> check_queues(const Value& above, const std::string& path,
                          const std::set<std::string_view>& resources) {
  const Value* const queues = above.find("queues");
  if (queues == nullptr || !queues->is(Kind::list)) return {};
  for (std::size_t at = 0; at < queues->items().size(); ++at) {
    const Value& queue = queues->items()[at];
    const std::string here = fmt::format("{}queues[{}]", path, at);
    TRY(check_quota(queue, "limit", here, resources));
    TRY(check_quota(queue, "guarantee", here, resources));
    TRY(check_queues(queue, here + ".", resources));
  }
  return {};
}

/// Entries by their written names, and where they stand.
class QueueTree {
 public:
  explicit QueueTree(Reader& reader) : reader_(reader) {}

  Result<std::vector<QueueSpec>> build(const std::vector<QueueEntry>& entries) {
    for (std::size_t at = 0; at < entries.size(); ++at) {
      if (by_name_.emplace(entries[at].spec.name, at).second) continue;
      return fail(wrong(at, fmt::format("queue {} appears twice", quote(entries[at].spec.name))));
    }
    for (std::size_t at = 0; at < entries.size(); ++at) {
      const std::string path = TRY(path_of(entries, at));
      TRY(add(entries[at], path, at));
    }
    std::ranges::sort(out_, {}, [](const QueueSpec& queue) {
      return std::pair(std::ranges::count(queue.name, '/'), queue.name);
    });
    for (const QueueSpec& queue : out_) {
      const std::size_t slash = queue.name.rfind('/');
      if (slash == std::string::npos || names_.contains(queue.name.substr(0, slash))) continue;
      return fail(
          wrong(places_[queue.name], fmt::format("queue {} has no parent {}", quote(queue.name),
                                                 quote(queue.name.substr(0, slash)))));
    }
    return std::move(out_);
  }

 private:
  Error wrong(std::size_t row, std::string what, std::string hint = {}) const {
    const Value& item = reader_.value().find("queues")->items()[row];
    return at_value({Code::invalid, std::move(what), {}, std::move(hint)},
                    fmt::format("{}[{}]", reader_.path_of("queues"), row), item);
  }

  /// Follows parents to the root; a chain longer than the list is a circle.
  Result<std::string> path_of(const std::vector<QueueEntry>& entries, std::size_t row) const {
    std::string path = entries[row].spec.name;
    std::size_t at = row;
    for (std::size_t steps = 0; !entries[at].parent.empty(); ++steps) {
      const auto parent = by_name_.find(entries[at].parent);
      if (parent == by_name_.end()) {
        std::vector<std::string_view> names;
        names.reserve(by_name_.size());
        for (const auto& [name, place] : by_name_) names.push_back(name);
        return fail(wrong(at, fmt::format("no queue is called {}", quote(entries[at].parent)),
                          did_you_mean(entries[at].parent, names)));
      }
      at = parent->second;
      if (steps >= entries.size()) {
        return fail(wrong(row,
                          fmt::format("queue {} lies inside itself", quote(entries[row].spec.name)),
                          "parents must end at a queue without one"));
      }
      path = entries[at].spec.name + "/" + path;
      if (path.size() > limits::name_length) break;
    }
    return path;
  }

  Result<void> add(const QueueEntry& entry, const std::string& path, std::size_t row) {
    if (path.size() > limits::name_length) {
      return fail(wrong(row, fmt::format("the path of a queue has more than {} characters",
                                         limits::name_length)));
    }
    if (!names_.insert(path).second) {
      return fail(wrong(row, fmt::format("queue {} appears twice", quote(path))));
    }
    places_[path] = row;
    out_.push_back(entry.spec);
    out_.back().name = path;
    for (const QueueEntry& child : entry.children)
      TRY(add(child, path + "/" + child.spec.name, row));
    return {};
  }

  Reader& reader_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::map<std::string, std::size_t> places_;
  std::set<std::string> names_;
  std::vector<QueueSpec> out_;
};

}  // namespace

Result<std::vector<TreeSpec>> read_topology(Reader& reader) {
  std::vector<TreeSpec> trees;
  const Value* const value = TRY(reader.optional_value("topology"));
  if (value == nullptr) return trees;
  const std::string path = reader.path_of("topology");
  if (!value->is(Kind::map)) {
    trees.push_back(TRY(tree_of("topology", *value, path)));
    return trees;
  }
  if (value->members().size() > levels_max) {
    return fail(reader.error("topology", fmt::format("{} trees; at most {} are possible",
                                                     value->members().size(), levels_max)));
  }
  for (const Value::Member& member : value->members()) {
    trees.push_back(TRY(tree_of(member.key, member.value, path + "." + member.key)));
  }
  if (const auto level = circular_level(trees)) {
    return fail(
        reader.error("topology", fmt::format("level {} lies inside itself", quote(*level)),
                     "a level that is above another in one tree cannot be below it in another"));
  }
  return trees;
}

Result<void> check_topology(Reader& reader, const std::vector<TreeSpec>& trees,
                            const std::vector<NodeSpec>& nodes) {
  std::set<std::string_view> labels;
  for (const NodeSpec& node : nodes) {
    for (const Label& label : node.labels.all()) labels.insert(label.key);
  }
  for (const TreeSpec& tree : trees) {
    for (const std::string& level : tree.levels) {
      if (labels.contains(level)) continue;
      const std::vector<std::string_view> known(labels.begin(), labels.end());
      const auto near = closest(level, known);
      return fail(reader.error("topology", fmt::format("no node has a label {}", quote(level)),
                               near ? fmt::format("did you mean {}?", quote(*near))
                                    : "label the nodes, or leave the level out"));
    }
  }
  for (const TreeSpec& tree : trees) {
    for (std::size_t at = 1; at < tree.levels.size(); ++at) {
      const std::string& wide = tree.levels[at - 1];
      const std::string& narrow = tree.levels[at];
      std::map<std::string_view, std::string_view> lies_in;
      for (const NodeSpec& node : nodes) {
        const std::string* const inner = node.labels.find(narrow);
        const std::string* const outer = node.labels.find(wide);
        if (inner == nullptr || outer == nullptr) continue;
        const auto [known, fresh] = lies_in.emplace(*inner, *outer);
        if (fresh || known->second == *outer) continue;
        return fail(reader.error(
            "topology",
            fmt::format("{} {} lies in {} {} and, with node {}, in {}", narrow, quote(*inner), wide,
                        quote(known->second), quote(node.name), quote(*outer)),
            fmt::format("give every {} a name of its own", narrow)));
      }
    }
  }
  return {};
}

std::set<std::string_view> resources_of(std::span<const NodeSpec> nodes) {
  std::set<std::string_view> out{"cpu", "memory", "storage", "pods"};
  for (const NodeSpec& node : nodes) {
    for (const NamedAmount& amount : node.capacity) out.insert(amount.name);
  }
  return out;
}

Result<void> check_quotas(const Value& document, const std::set<std::string_view>& resources) {
  return check_queues(document, "", resources);
}

Result<QueueSpec> parse_queue(const Value& document, std::string path) {
  const bool plain = std::ranges::all_of(path, [](char c) { return c > ' ' && c != 0x7f; });
  const bool whole = !path.starts_with('/') && !path.ends_with('/') && !path.contains("//");
  if (path.empty() || path.size() > limits::name_length || !plain || !whole) {
    return fail(Code::invalid, quote(path) + " is no name of a queue",
                "a queue is called by its path: research/vision");
  }
  return decode(document, "queue", [&](Reader& reader) -> Result<QueueSpec> {
    QueueSpec queue{.name = path, .limit = {}, .guarantee = {}};
    queue.weight = TRY(read_queue_weight(reader));
    queue.limit = TRY(read_quota(reader, "limit"));
    queue.guarantee = TRY(read_quota(reader, "guarantee"));
    return queue;
  });
}

Result<std::vector<QueueSpec>> read_queues(Reader& reader) {
  const std::vector<QueueEntry> entries = TRY(reader.list("queues", read_queue));
  return QueueTree(reader).build(entries);
}

}  // namespace tutti
