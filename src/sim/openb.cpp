#include "sim/openb.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/limits.h"
#include "dialect/names.h"
#include "format/csv.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::int64_t amount_max = std::int64_t{1} << 38;  // MiB that still fit as bytes.
constexpr std::int64_t devices_max = limits::devices_per_node;

/// A name of its own, at its place.
Result<std::string> name_of(const CsvReader& csv, std::string_view column,
                            std::set<std::string, std::less<>>& names) {
  const std::size_t index = TRY(csv.column(column));
  std::string name(csv.text(index));
  if (Result<void> good = check_name(name); !good) {
    return fail(csv.error(index, good.error().what, good.error().hint));
  }
  if (names.insert(name).second) return name;
  return fail(csv.error(index, quote(name) + " appears twice", "each row has a name of its own"));
}

/// Runs `row` on every line.
template <class Row>
Result<void> each_row(std::string_view text, Skipped& skipped, Row row) {
  CsvReader csv = TRY(CsvReader::open(text));
  while (TRY(csv.next())) {
    if (Result<void> done = row(csv); !done) TRY(skipped.leave_out(std::move(done).error()));
  }
  return skipped.check();
}

Result<NodeSpec> node_of(const CsvReader& csv) {
  NodeSpec node;
  node.capacity = {{"cpu", TRY(csv.integer("cpu_milli", 0, limits::amount))},
                   {"memory", TRY(csv.integer("memory_mib", 0, amount_max)) * mib}};
  const std::int64_t count = TRY(csv.integer("gpu", 0, devices_max));
  const std::size_t model_column = TRY(csv.column("model"));
  const std::string model(csv.text(model_column));
  if (count > 0 && model.empty()) {
    return fail(csv.error(model_column, "the node has GPUs, but no model"));
  }
  const DeviceSpec device{.type = {.model = model}};
  node.devices.assign(static_cast<std::size_t>(count), device);
  return node;
}

/// What makes two pods equal: cpu, memory, devices, share, models.
using PodShape = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::string>;

Result<PodShape> shape_of(const CsvReader& csv) {
  const std::int64_t cpu = TRY(csv.integer("cpu_milli", 0, limits::amount));
  const std::int64_t memory = TRY(csv.integer("memory_mib", 0, amount_max));
  const std::int64_t count = TRY(csv.integer("num_gpu", 0, devices_max));
  const std::int64_t share = TRY(csv.integer("gpu_milli", 0, DeviceRequest::whole));
  const std::size_t share_column = TRY(csv.column("gpu_milli"));
  if (count > 0 && share == 0) {
    return fail(csv.error(share_column, "the pod has GPUs, but asks for nothing of them"));
  }
  if (count == 0 && share > 0) {
    return fail(csv.error(share_column, "the pod has no GPUs, but asks for a part of one"));
  }
  if (count > 1 && share != DeviceRequest::whole) {
    return fail(csv.error(share_column, "a pod with several GPUs must ask for all of each (1000)"));
  }
  std::string models;
  if (csv.has("gpu_spec")) models = TRY(csv.text("gpu_spec"));
  return PodShape{cpu, memory, count, count > 0 ? share : 0, models};
}

Result<AttributeExpression> models_of(const std::string& spec) {
  std::set<std::string> models;
  for (std::size_t begin = 0; begin < spec.size();) {
    const std::size_t end = std::min(spec.find('|', begin), spec.size());
    if (end > begin) models.insert(spec.substr(begin, end - begin));
    begin = end + 1;
  }
  std::string list;
  for (const std::string& model : models) list += (list.empty() ? "\"" : ", \"") + model + "\"";
  if (list.empty()) return AttributeExpression();
  return AttributeExpression::parse("model in (" + list + ")");
}

Result<TaskShape> task_of(const PodShape& pod) {
  const auto& [cpu, memory, count, share, models] = pod;
  TaskShape shape;
  if (cpu > 0) shape.resources.push_back({"cpu", cpu});
  if (memory > 0) shape.resources.push_back({"memory", memory * mib});
  if (count == 0) return shape;
  DeviceRequest request;
  request.where = TRY(models_of(models));
  request.count = static_cast<std::uint16_t>(count);
  request.compute_permille = static_cast<std::uint16_t>(share);
  shape.devices.push_back(std::move(request));
  return shape;
}

Result<Submission> times_of(const CsvReader& csv, Submission submission) {
  if (!csv.has("creation_time")) return submission;
  const std::int64_t created = TRY(csv.integer("creation_time", 0, limits::amount / 1'000'000));
  const auto started = TRY(csv.optional_integer("scheduled_time", 0, limits::amount / 1'000'000));
  const auto deleted = TRY(csv.optional_integer("deletion_time", 0, limits::amount / 1'000'000));
  submission.at = Instant{} + Duration::seconds(created);
  const std::int64_t begin = started.value_or(created);
  if (deleted && *deleted < begin) {
    return fail(
        csv.error(TRY(csv.column("deletion_time")),
                  std::to_string(*deleted) + " is before the start at " + std::to_string(begin)));
  }
  submission.length = Duration::seconds(deleted.value_or(begin) - begin);
  return submission;
}

std::unexpected<Error> no_rows(const std::string& what) {
  return fail(Error{Code::invalid, "the table has no " + what, "1:1",
                    "rows follow below the names of the columns"});
}

}  // namespace

Result<FleetFile> read_openb_nodes(std::string_view text, std::string name, Skipped& skipped) {
  FleetFile fleet{.name = std::move(name)};
  std::set<std::string, std::less<>> names;
  auto read = each_row(text, skipped, [&](const CsvReader& csv) -> Result<void> {
    NodeSpec node = TRY(node_of(csv));
    node.name = TRY(name_of(csv, "sn", names));
    fleet.nodes.push_back(std::move(node));
    return {};
  });
  if (!read) return fail(std::move(read).error());
  if (fleet.nodes.empty()) return no_rows("nodes");
  return fleet;
}

Result<Workload> read_openb_pods(std::string_view text, std::string name, Skipped& skipped) {
  Workload workload{.name = std::move(name)};
  std::set<std::string, std::less<>> names;
  std::map<PodShape, std::shared_ptr<const GangSpec>> gangs;
  auto read = each_row(text, skipped, [&](const CsvReader& csv) -> Result<void> {
    const PodShape pod = TRY(shape_of(csv));
    auto& gang = gangs[pod];
    if (!gang) {
      Result<TaskShape> shape = task_of(pod);
      if (!shape) return fail(csv.error(TRY(csv.column("gpu_spec")), shape.error().what));
      const RoleSpec role{.name = "task", .alternatives = {*std::move(shape)}};
      gang = std::make_shared<const GangSpec>(GangSpec{.groups = {{.roles = {role}}}});
    }
    JobSpec spec{.name = TRY(name_of(csv, "name", names)), .gangs = {gang}};
    Submission submission{.spec = std::make_shared<const JobSpec>(std::move(spec))};
    submission.gpu_milli = std::get<2>(pod) * std::get<3>(pod);
    workload.jobs.push_back(TRY(times_of(csv, std::move(submission))));
    return {};
  });
  if (!read) return fail(std::move(read).error());
  if (workload.jobs.empty()) return no_rows("pods");
  workload.mix = mix_of(workload.jobs);
  return workload;
}

}  // namespace tutti
