#include "dialect/tutti.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "dialect/mentions.h"
#include "dialect/tutti_fleet.h"
#include "dialect/tutti_read.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::array<std::string_view, 4> fleet_keys{"topology", "queues", "nodes", "pools"};
constexpr std::array<std::string_view, 3> workload_keys{"jobs", "job", "mix"};

Result<void> read_version(Reader& reader) {
  const auto version = TRY(reader.optional_integer("tutti"));
  if (!version || *version == 1) return {};
  return fail(reader.error("tutti", fmt::format("version {} of the format is unknown", *version),
                           "this build reads version 1"));
}

/// The keys of the other kind of file may stand beside ours.
Result<void> leave_alone(Reader& reader, std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) TRY(reader.ignore(key));
  return {};
}

constexpr std::array<Choice<Control>, 4> controls{{{"device", Control::device},
                                                   {"node", Control::node},
                                                   {"order", Control::order},
                                                   {"observe", Control::observe}}};

Result<Pool> read_pool(Reader& reader) {
  const std::span<const Choice<Control>> choices(controls);
  return Pool{.name = {}, .control = TRY(reader.required_choice("control", choices))};
}

class FleetParse {
 public:
  FleetParse(FleetFile& fleet, const Catalog* catalog) : fleet_(fleet), node_reader_(catalog) {}

  Result<void> read(Reader& reader) {
    TRY(read_version(reader));
    TRY(leave_alone(reader, workload_keys));
    for (auto& [name, pool] : TRY(reader.map("pools", read_pool))) {
      fleet_.pools.push_back({name, pool.control});
    }
    TRY(read_nodes(reader));
    std::vector<TreeSpec> trees = TRY(read_topology(reader));
    if (!trees.empty() && !fleet_.trees.empty()) {
      return fail(reader.error("topology", "stands in an earlier document too"));
    }
    if (!trees.empty()) {
      fleet_.trees = std::move(trees);
      topology_.emplace(reader.value(), "");
    }
    std::vector<QueueSpec> queues = TRY(read_queues(reader));
    if (!queues.empty() && !fleet_.queues.empty()) {
      return fail(reader.error("queues", "stand in an earlier document too"));
    }
    if (!queues.empty()) {
      fleet_.queues = std::move(queues);
      queues_ = &reader.value();
    }
    return {};
  }

  /// What can only be checked once all documents are read.
  Result<void> finish() {
    if (queues_ != nullptr) TRY(check_quotas(*queues_, resources_of(fleet_.nodes)));
    if (!topology_) return {};
    return check_topology(*topology_, fleet_.trees, fleet_.nodes);
  }

 private:
  Result<void> read_nodes(Reader& reader) {
    const auto read = [this](Reader& entry) -> Result<bool> {
      const std::size_t before = fleet_.nodes.size();
      TRY(node_reader_.read(entry, fleet_.nodes));
      for (std::size_t at = before; at < fleet_.nodes.size(); ++at) {
        const std::string& name = fleet_.nodes[at].name;
        if (names_.insert(name).second) continue;
        return fail(entry.error("name", fmt::format("node {} appears twice", quote(name))));
      }
      return true;
    };
    TRY(reader.list("nodes", read));
    return {};
  }

  FleetFile& fleet_;
  NodeReader node_reader_;
  std::set<std::string, std::less<>> names_;
  std::optional<Reader> topology_;  ///< The document that has it.
  const Value* queues_ = nullptr;   ///< The same.
};

class WorkloadParse {
 public:
  WorkloadParse(Workload& workload, const Catalog* catalog)
      : workload_(workload), catalog_(catalog) {}

  Result<void> read(Reader& reader) {
    TRY(read_version(reader));
    TRY(leave_alone(reader, fleet_keys));
    const auto read = [this](Reader& entry) { return read_entry(entry); };
    const auto mix = [this](Reader& entry) { return read_mix_entry(entry, catalog_); };
    TRY(reader.list("jobs", read));
    TRY(reader.optional_object("job", read));
    for (MixSet::Entry& entry : TRY(reader.list("mix", mix))) {
      workload_.mix.push_back(std::move(entry));
    }
    return {};
  }

  void finish(TaskLabels labels) {
    give_labels(specs_, labels);
    for (std::size_t at = 0; at < specs_.size(); ++at) {
      workload_.jobs[at].spec = std::move(specs_[at]);
    }
    if (workload_.mix.empty()) workload_.mix = mix_of(workload_.jobs);
  }

 private:
  Result<bool> read_entry(Reader& reader) {
    const JobEntry entry = TRY(read_job(reader, jobs_per_file - specs_.size(), catalog_));
    TRY(count(reader, entry));
    const std::int64_t gpu_milli = gpu_milli_of(entry.spec);
    Instant at = Instant{} + entry.at;
    std::vector<Dependency> named;
    std::vector<Dependency> numbered;
    for (const NamedDependency& each : entry.after) {
      const auto row = names_.find({entry.spec.space, each.job});
      if (row != names_.end()) {
        named.push_back({JobId(row->second), each.on});
      } else if (const auto id = numbered_job(each.job)) {
        numbered.push_back({*id, each.on});
      } else {
        return fail(reader.error("after", fmt::format("no job {} stands above", quote(each.job)),
                                 "jobs of a server are named by their numbers"));
      }
    }
    for (const std::string& name : entry.names) {
      if (!names_.try_emplace({entry.spec.space, name}, specs_.size()).second) {
        return fail(reader.error("name", fmt::format("job {} appears twice", quote(name))));
      }
      auto spec = std::make_shared<JobSpec>(entry.spec);
      spec->name = name;
      spec->rules.after = numbered;
      specs_.push_back(std::move(spec));
      workload_.jobs.push_back({.spec = nullptr,
                                .environment = entry.environment,
                                .after = named,
                                .at = at,
                                .length = entry.length,
                                .gpu_milli = gpu_milli});
      at = at + entry.every;
    }
    return true;
  }

  Result<void> count(Reader& reader, const JobEntry& entry) {
    tasks_ += tasks_of(entry.spec) * entry.names.size();
    labels_ += entry.spec.labels.all().size() * entry.names.size();
    if (tasks_ > tasks_per_file) {
      return fail(reader.error("name", fmt::format("the jobs up to here have {} tasks; at most {} "
                                                   "are read",
                                                   tasks_, tasks_per_file)));
    }
    if (labels_ <= labels_per_file) return {};
    return fail(reader.error("name", fmt::format("the jobs up to here have {} labels; at most {} "
                                                 "are read",
                                                 labels_, labels_per_file)));
  }

  Workload& workload_;
  const Catalog* catalog_;
  std::uint64_t tasks_ = 0;
  std::uint64_t labels_ = 0;
  std::vector<std::shared_ptr<JobSpec>> specs_;
  /// The row of each, by namespace and name.
  std::map<std::pair<std::string, std::string>, std::size_t> names_;
};

constexpr std::string_view wanted_of_jobs = "a workload has at least: jobs: [{name: j0, cpu: 1}]";

/// Every document of the file, each read by `parse`.
Result<void> read_each(std::span<const Value> documents, auto& parse) {
  for (const Value& document : documents) {
    Reader reader(document, "");
    TRY(parse.read(reader));
    TRY(reader.done());
  }
  return {};
}

}  // namespace

Result<FleetFile> parse_fleet(std::string_view yaml, std::string name, const Catalog* catalog) {
  constexpr std::string_view wanted =
      "a fleet has at least: nodes: [{name: n0, cpu: 8, memory: 32Gi}]";
  FleetFile fleet;
  fleet.name = std::move(name);
  FleetParse parse(fleet, catalog);
  const std::vector<Value> documents = TRY(documents_of(yaml, wanted));
  TRY(read_each(documents, parse));
  if (fleet.nodes.empty()) {
    return fail(Error{Code::invalid, "the file describes no nodes",
                      documents.front().place().text(), std::string(wanted)});
  }
  TRY(parse.finish());
  fleet.mentions = mentions_of_nodes(documents);
  return fleet;
}

namespace {

Result<Workload> read_workload(std::span<const Value> documents, std::string name,
                               const Catalog* catalog, TaskLabels labels) {
  Workload workload;
  workload.name = std::move(name);
  WorkloadParse parse(workload, catalog);
  TRY(read_each(documents, parse));
  if (workload.jobs.empty()) {
    return fail(Error{Code::invalid, "the file describes no jobs", documents.front().place().text(),
                      std::string(wanted_of_jobs)});
  }
  parse.finish(labels);
  workload.mentions = mentions_of_jobs(documents);
  return workload;
}

}  // namespace

Result<Workload> parse_workload(std::string_view yaml, std::string name, const Catalog* catalog,
                                TaskLabels labels) {
  const std::vector<Value> documents = TRY(documents_of(yaml, wanted_of_jobs));
  return read_workload(documents, std::move(name), catalog, labels);
}

Result<Workload> parse_workload(const Value& document, std::string name, const Catalog* catalog,
                                TaskLabels labels) {
  return read_workload(std::span(&document, 1), std::move(name), catalog, labels);
}

}  // namespace tutti
