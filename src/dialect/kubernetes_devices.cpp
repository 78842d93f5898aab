/// Extended resources of Kubernetes -> devices, and requests for them.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "base/limits.h"
#include "dialect/devices.h"
#include "dialect/kubernetes_read.h"
#include "dialect/kubernetes_register.h"
#include "format/text.h"
#include "model/catalog.h"

namespace tutti {
namespace {

/// How a vGPU dialect asks for a part of a card: a number of cards, and of each so many MiB or
/// percent of memory and percent of compute. Empty where it has no such resource.
struct ShareDialect {
  std::string_view number;
  std::string_view memory;
  std::string_view memory_percent;
  std::string_view cores;
  bool spelled(std::string_view name) const {
    return !name.empty() && (name == memory || name == memory_percent || name == cores);
  }
};

constexpr std::array<ShareDialect, 4> share_dialects{{
    {"nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores"},
    {"volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-memory-percentage",
     "volcano.sh/vgpu-cores"},
    {"volcano.sh/gpu-number", "volcano.sh/gpu-memory", "", ""},
    {"hygon.com/dcunum", "hygon.com/dcumem", "", "hygon.com/dcucores"},
}};

constexpr std::int64_t percent_max = 100;
/// Units of its resource that a card stands for, where these are more than one.
constexpr std::string_view replicas_attribute = "replicas";
/// The resource whose units it stands for.
constexpr std::string_view resource_attribute = "resource";
constexpr std::int64_t units_max = DeviceRequest::whole;
/// A share of memory alone still takes a thousandth of the card, so that nobody gets all of it; its
/// compute is not limited.
constexpr std::uint16_t least_share = 1;

void set_attribute(DeviceType& type, Attribute attribute) {
  const auto at = std::ranges::lower_bound(type.attributes, attribute.name, {}, &Attribute::name);
  if (at != type.attributes.end() && at->name == attribute.name) {
    *at = std::move(attribute);
    return;
  }
  type.attributes.insert(at, std::move(attribute));
}

void set_resource(DeviceType& type, std::string_view resource) {
  set_attribute(
      type, {.name = std::string(resource_attribute), .number = 0, .text = std::string(resource)});
}

/// Does one unit of the resource stand for one accelerator? NICs stay counts: their plugins share
/// them in numbers far beyond the cards that exist.
std::optional<Catalog::Counted> accelerator(const Catalog* catalog, std::string_view resource) {
  if (catalog == nullptr) return std::nullopt;
  auto counted = catalog->find_resource(resource);
  if (!counted || counted->cores) return std::nullopt;
  if (counted->entry != nullptr) {
    if (counted->entry->type.kind == DeviceKind::nic) return std::nullopt;
    return counted;
  }
  const auto entries = catalog->all();
  const bool any = std::ranges::any_of(entries, [&](const Catalog::Entry* entry) {
    return entry->type.vendor == counted->vendor->name && entry->type.kind != DeviceKind::nic;
  });
  return any ? counted : std::nullopt;
}

std::optional<std::int64_t> number_label(const Labels& labels, const std::string& key) {
  const std::string* const text = labels.find(key);
  if (text == nullptr) return std::nullopt;
  const Result<std::int64_t> number = parse_quantity(*text);
  if (!number || *number < 1 || *number > limits::device_mib) return std::nullopt;
  return *number;
}

/// The raw word for the model, where the catalog does not know it.
std::string reported_model(const Labels& labels, const Catalog::Vendor& vendor,
                           std::string_view resource) {
  for (const std::string& key : vendor.model_labels) {
    if (const std::string* const value = labels.find(key)) return *value;
  }
  return std::string(resource);
}

/// "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb": all devices of the node are such slices.
std::string slice_in_label(const Labels& labels) {
  constexpr std::string_view marker = "-MIG-";
  const std::string* const product = labels.find("nvidia.com/gpu.product");
  if (product == nullptr) return {};
  const std::size_t at = product->find(marker);
  return at == std::string::npos ? std::string() : product->substr(at + marker.size());
}

/// How many units of a resource stand for one card, for a plugin that lets tasks share cards counts
/// each so often. More units than devices can be cannot be cards, whatever labels say.
std::int64_t units_per_card(const ObjectMeta& node, const NamedAmount& resource) {
  std::optional<std::int64_t> told;
  if (resource.name.starts_with("nvidia.com/mig-")) {
    told = number_label(node.labels, resource.name + ".replicas");
  } else if (resource.name.starts_with("nvidia.com/gpu")) {
    told = number_label(node.labels, "nvidia.com/gpu.replicas");
  }
  constexpr std::int64_t most = limits::devices_per_node;
  return std::max(told.value_or(1), (resource.amount + most - 1) / most);
}

/// The card, or slice, behind units of a resource on this node.
DeviceSpec card_of(const ObjectMeta& node, const std::string& resource,
                   const Catalog::Counted& counted, const Catalog* catalog) {
  const Catalog::Entry* entry = catalog->find_by_labels(node.labels);
  if (entry != nullptr && entry->type.vendor != counted.vendor->name) entry = nullptr;
  if (entry == nullptr) entry = counted.entry;
  DeviceSpec spec;
  if (entry != nullptr) {
    spec.type = entry->type;
  } else {
    spec.type.model = reported_model(node.labels, *counted.vendor, resource);
    spec.type.vendor = counted.vendor->name;
  }
  std::string reported = "nvidia.com/gpu.memory";
  if (!counted.rest.empty() && resource.starts_with("nvidia.com/mig-")) {
    become_slice(spec.type, catalog, counted.rest);
    spec.device.mode = DeviceMode::mig;
    reported = resource + ".memory";
  } else if (const std::string slice = slice_in_label(node.labels); !slice.empty()) {
    become_slice(spec.type, catalog, slice);
    spec.device.mode = DeviceMode::mig;
  }
  if (counted.vendor->name == "nvidia") {
    spec.type.memory_mib = number_label(node.labels, reported).value_or(spec.type.memory_mib);
  }
  set_resource(spec.type, resource);
  return spec;
}

/// Appends the cards behind the units of a resource.
Result<void> add_cards(const ObjectMeta& node, const NamedAmount& resource, std::int64_t healthy,
                       DeviceSpec card, std::vector<DeviceSpec>& out) {
  const std::int64_t units = units_per_card(node, resource);
  if (units > units_max) {
    return fail(Code::limit,
                fmt::format("offers {} of {}; a node has at most {} cards, and tasks "
                            "share one in at most {} parts",
                            resource.amount, resource.name, limits::devices_per_node, units_max));
  }
  if (units > 1) {
    const std::string* const strategy = node.labels.find("nvidia.com/gpu.sharing-strategy");
    const bool mps = strategy != nullptr && *strategy == "mps";
    if (card.type.profile.empty()) {
      card.device.mode = mps ? DeviceMode::mps : DeviceMode::time_sliced;
    }
    set_attribute(card.type, {.name = std::string(replicas_attribute), .number = units});
  }
  const std::int64_t cards = (resource.amount + units - 1) / units;
  // Which ones are unhealthy is not known here; the last ones stand for them.
  const std::int64_t sound = (healthy + units - 1) / units;
  for (std::int64_t at = 0; at < cards; ++at) {
    card.device.health = at < sound ? Health::online : Health::failed;
    out.push_back(card);
  }
  return {};
}

/// Cards that a vGPU plugin lists one by one in an annotation of the node.
Result<std::vector<DeviceSpec>> registered(const ObjectMeta& node, std::string_view resource,
                                           std::string_view annotation, const Catalog* catalog) {
  const std::string* const text = node.annotations.find(annotation);
  if (text == nullptr) return std::vector<DeviceSpec>{};
  Result<std::vector<DeviceSpec>> cards = parse_register(*text, catalog);
  if (!cards) {
    return fail(cards.error().code,
                fmt::format("annotation {}: {}", annotation, cards.error().what),
                cards.error().hint);
  }
  for (DeviceSpec& card : *cards) set_resource(card.type, resource);
  return cards;
}

bool is_share_part(std::string_view name) {
  if (name.starts_with("huawei.com/Ascend"))
    return name.ends_with("-memory") || name.ends_with("-core");
  return std::ranges::any_of(share_dialects,
                             [&](const ShareDialect& dialect) { return dialect.spelled(name); });
}

/// The largest share of one card that a container of a pod asks for, and all their cards.
struct ShareRequest {
  std::int64_t number = 0;
  std::int64_t memory_mib = 0;
  std::int64_t percent = 0;
  std::int64_t cores = 0;
  bool whole = false;  ///< Some container asks for cards and says nothing of memory.
};

ShareRequest share_of(const ShareDialect& dialect, const PodRequests& requests) {
  ShareRequest out;
  for (const ResourceList& container : requests.containers) {
    const std::int64_t memory = amount_in(container, dialect.memory);
    const std::int64_t percent = amount_in(container, dialect.memory_percent);
    std::int64_t number = amount_in(container, dialect.number);
    if (number == 0 && (memory > 0 || percent > 0)) number = 1;
    if (number == 0) continue;
    out.number += number;
    out.memory_mib = std::max(out.memory_mib, memory);
    out.percent = std::max(out.percent, percent);
    out.cores = std::max(out.cores, amount_in(container, dialect.cores));
    out.whole |= memory == 0 && percent == 0;
  }
  // Init containers that need more cards than run side by side.
  out.number = std::max(out.number, amount_in(requests.total, dialect.number));
  return out;
}

Result<std::uint16_t> card_count(std::string_view resource, std::int64_t count) {
  if (count >= 1 && count <= limits::devices_per_node) return static_cast<std::uint16_t>(count);
  return fail(Code::invalid, fmt::format("asks for {} of {}; 1 to {} are possible on one node",
                                         count, resource, limits::devices_per_node));
}

Result<DeviceRequest> request_of(const ShareDialect& dialect, const ShareRequest& share) {
  DeviceRequest out;
  out.count = TRY(card_count(dialect.number, share.number));
  if (share.percent > percent_max || share.cores > percent_max) {
    return fail(Code::invalid, fmt::format("asks for more than 100 % of a card: {}",
                                           std::max(share.percent, share.cores)));
  }
  if (share.memory_mib > limits::device_mib) {
    return fail(Code::invalid, fmt::format("asks for {} MiB of a card", share.memory_mib));
  }
  if (share.whole || share.percent == percent_max) return out;
  // Percent of memory follow the share of compute, so the larger of both is taken.
  const std::int64_t compute = std::max(share.cores, share.percent) * 10;
  out.compute_permille = std::max(least_share, static_cast<std::uint16_t>(compute));
  out.memory_mib = share.memory_mib;
  return out;
}

/// Models that annotations of a pod allow and forbid.
std::string type_tests(const ObjectMeta& pod, const Catalog* catalog) {
  std::string out;
  for (const std::string_view key : {"nvidia.com/use-gputype", "nvidia.com/nouse-gputype"}) {
    const std::string* const list = pod.annotations.find(key);
    if (list == nullptr || list->empty()) continue;
    std::vector<std::string_view> words;
    const std::string_view text = *list;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      if (end > begin) words.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    if (words.empty()) continue;
    const bool negated = key == "nvidia.com/nouse-gputype";
    out += fmt::format(" && {}({})", negated ? "!" : "", models_text(catalog, words));
  }
  return out;
}

Result<AttributeExpression> where_of(const ObjectMeta& pod, std::string_view resource,
                                     const Catalog* catalog) {
  std::string text = fmt::format("resource == \"{}\"", resource);
  if (resource.starts_with("nvidia.com/") || resource.starts_with("volcano.sh/")) {
    text += type_tests(pod, catalog);
  }
  return AttributeExpression::parse(text);
}

/// KAI writes fractions into annotations: "gpu-fraction: 0.5", "gpu-memory: 2000" (MiB).
Result<std::optional<DeviceRequest>> annotated_share(const ObjectMeta& pod) {
  const std::string* const fraction = pod.annotations.find("gpu-fraction");
  const std::string* const memory = pod.annotations.find("gpu-memory");
  if (fraction == nullptr && memory == nullptr) return std::nullopt;
  DeviceRequest out;
  out.compute_permille = least_share;
  if (fraction != nullptr) {
    const Result<std::int64_t> permille = parse_permille(*fraction, 3);
    if (!permille || *permille < 1 || *permille > DeviceRequest::whole) {
      return fail(Code::invalid,
                  fmt::format("annotation gpu-fraction: {} is no part of a card", quote(*fraction)),
                  "above 0, at most 1");
    }
    out.compute_permille = static_cast<std::uint16_t>(*permille);
  }
  if (memory != nullptr) {
    const Result<std::int64_t> mib = parse_quantity(*memory);
    if (!mib || *mib < 1 || *mib > limits::device_mib) {
      return fail(Code::invalid,
                  fmt::format("annotation gpu-memory: {} is no number of MiB", quote(*memory)));
    }
    out.memory_mib = *mib;
  }
  if (const std::string* const count = pod.annotations.find("gpu-fraction-num-devices")) {
    const Result<std::int64_t> number = parse_quantity(*count);
    if (!number) {
      return fail(Code::invalid, fmt::format("annotation gpu-fraction-num-devices: {} is no number",
                                             quote(*count)));
    }
    out.count = TRY(card_count("gpu-fraction-num-devices", *number));
  }
  return out;
}

std::string lane_name(const std::string& resource) {
  return resource == "ephemeral-storage" ? "storage" : resource;
}

void add_lane(std::vector<NamedAmount>& lanes, const NamedAmount& part) {
  const std::string name = lane_name(part.name);
  lanes.insert(std::ranges::lower_bound(lanes, name, {}, &NamedAmount::name), {name, part.amount});
}

/// Resources of the pod that are shares of cards; each is appended to the shape.
Result<std::vector<std::string>> add_shares(const ObjectMeta& pod, const PodRequests& requests,
                                            const Catalog* catalog, TaskShape& shape) {
  std::vector<std::string> numbers;
  std::vector<ShareDialect> dialects(share_dialects.begin(), share_dialects.end());
  // Names that are built from others must outlive the dialects that refer to them.
  std::vector<std::string> built;
  built.reserve(2 * requests.total.size());
  for (const NamedAmount& part : requests.total) {
    if (!part.name.starts_with("huawei.com/Ascend") || is_share_part(part.name)) continue;
    const std::string_view memory = built.emplace_back(part.name + "-memory");
    const std::string_view cores = built.emplace_back(part.name + "-core");
    dialects.push_back({part.name, memory, "", cores});
  }
  for (const ShareDialect& dialect : dialects) {
    const bool used = std::ranges::any_of(requests.total, [&](const NamedAmount& part) {
      return part.amount > 0 && dialect.spelled(part.name);
    });
    if (!used) continue;
    DeviceRequest request = TRY(request_of(dialect, share_of(dialect, requests)));
    request.where = TRY(where_of(pod, dialect.number, catalog));
    shape.devices.push_back(std::move(request));
    numbers.emplace_back(dialect.number);
  }
  return numbers;
}

/// An attribute of a card, or null.
const Attribute* find_attribute(const DeviceType& type, std::string_view name) {
  const auto at = std::ranges::find(type.attributes, name, &Attribute::name);
  return at == type.attributes.end() ? nullptr : &*at;
}

/// Narrows a request to cards that stand for `units` of their resource, 1 being those that nobody
/// shares.
void take_only(DeviceRequest& request, std::int64_t units) {
  const std::string own = request.where.empty() ? "" : "(" + request.where.text() + ") && ";
  const std::string test = units == 1 ? fmt::format("!({})", replicas_attribute)
                                      : fmt::format("{} == {}", replicas_attribute, units);
  auto where = AttributeExpression::parse(own + test);
  if (where) request.where = *std::move(where);
}

/// Units of different cards, or of as few cards as there can be, evenly.
enum class Parting : std::uint8_t { one_of_each, fewest_cards };

/// What a task that asks for whole units takes of cards that stand for `units` each. False where
/// that is not possible.
///
/// The parts of a card are whole thousandths, so more of them than units may find room there: what
/// bounds their number is the lane of the resource.
bool share_units(TaskShape& shape, std::span<const DeviceType> shared, std::int64_t units,
                 Parting parting) {
  bool shares = false;
  for (DeviceRequest& request : shape.devices) {
    if (request.shared()) continue;
    const auto card = std::ranges::find_if(shared, [&](const DeviceType& type) {
      return units_of(type) == units && request.where.matches(type);
    });
    const std::int64_t fewest = (request.count + units - 1) / units;
    const std::int64_t cards = parting == Parting::fewest_cards ? fewest : request.count;
    if (card == shared.end() || (parting == Parting::fewest_cards && request.count == 1)) {
      take_only(request, 1);
      continue;
    }
    add_lane(shape.resources, {find_attribute(*card, resource_attribute)->text, request.count});
    take_only(request, units);
    const std::int64_t permille =
        std::int64_t{DeviceRequest::whole} * request.count / (units * cards);
    request.count = static_cast<std::uint16_t>(cards);
    request.compute_permille = std::max(least_share, static_cast<std::uint16_t>(permille));
    shares = true;
  }
  return shares;
}

/// What takes cards whole does not take those that several tasks share.
TaskShape unshared(TaskShape shape) {
  for (DeviceRequest& request : shape.devices) {
    if (!request.shared() && !request.where.empty()) take_only(request, 1);
  }
  return shape;
}

}  // namespace

std::int64_t units_of(const DeviceType& type) {
  const Attribute* const units = find_attribute(type, replicas_attribute);
  return units == nullptr ? 1 : units->number;
}

std::vector<TaskShape> with_shared_cards(const TaskShape& shape,
                                         std::span<const DeviceType> shared) {
  std::set<std::int64_t> met;
  for (const DeviceType& type : shared) {
    const bool asked = std::ranges::any_of(shape.devices, [&](const DeviceRequest& request) {
      return !request.shared() && request.where.matches(type);
    });
    if (asked) met.insert(units_of(type));
  }
  if (met.empty()) return {shape};
  std::vector<TaskShape> out{unshared(shape)};
  for (const std::int64_t units : met) {
    for (const Parting parting : {Parting::one_of_each, Parting::fewest_cards}) {
      TaskShape shares = shape;
      if (share_units(shares, shared, units, parting)) out.push_back(std::move(shares));
    }
  }
  return out;
}

Result<std::vector<DeviceSpec>> devices_of_node(const ObjectMeta& node,
                                                const ResourceList& capacity,
                                                ResourceList& allocatable, const Catalog* catalog) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> registers{
      {{"nvidia.com/gpu", "hami.io/node-nvidia-register"},
       {"volcano.sh/vgpu-number", "volcano.sh/node-vgpu-register"}}};
  std::vector<DeviceSpec> out;
  std::vector<std::string> taken;
  for (const auto& [resource, annotation] : registers) {
    const auto cards = TRY(registered(node, resource, annotation, catalog));
    if (!cards.empty()) taken.emplace_back(resource);
    out.insert(out.end(), cards.begin(), cards.end());
  }
  for (const NamedAmount& part : largest_of(capacity, allocatable)) {
    if (std::ranges::find(taken, part.name) != taken.end()) continue;
    const auto counted = accelerator(catalog, part.name);
    if (!counted) continue;
    taken.push_back(part.name);
    TRY(add_cards(node, part, amount_in(allocatable, part.name),
                  card_of(node, part.name, *counted, catalog), out));
  }
  if (out.size() > limits::devices_per_node) {
    return fail(Code::limit, fmt::format("has {} devices; at most {} are supported", out.size(),
                                         limits::devices_per_node));
  }
  std::vector<NamedAmount> lanes;
  for (const NamedAmount& part : allocatable) {
    const bool always = part.name == "cpu" || part.name == "memory" || part.name == "pods";
    const bool device = std::ranges::find(taken, part.name) != taken.end();
    const bool units = std::ranges::any_of(out, [&](const DeviceSpec& card) {
      return units_of(card.type) > 1 &&
             find_attribute(card.type, resource_attribute)->text == part.name;
    });
    if ((!device || units) && !is_share_part(part.name) && (part.amount > 0 || always))
      add_lane(lanes, part);
  }
  allocatable = std::move(lanes);
  return out;
}

Result<void> requests_of_pod(const ObjectMeta& pod, const PodRequests& requests,
                             const Catalog* catalog, TaskShape& shape) {
  const std::vector<std::string> shared = TRY(add_shares(pod, requests, catalog, shape));
  for (const NamedAmount& part : requests.total) {
    if (part.amount == 0 || is_share_part(part.name)) continue;
    if (std::ranges::find(shared, part.name) != shared.end()) continue;
    const bool volcano =
        part.name == "volcano.sh/vgpu-number" || part.name == "volcano.sh/gpu-number";
    if (!volcano && !accelerator(catalog, part.name)) {
      add_lane(shape.resources, part);
      continue;
    }
    DeviceRequest request;
    request.count = TRY(card_count(part.name, part.amount));
    request.where = TRY(where_of(pod, part.name, catalog));
    shape.devices.push_back(std::move(request));
  }
  if (auto request = TRY(annotated_share(pod))) {
    request->where = TRY(where_of(pod, "nvidia.com/gpu", catalog));
    shape.devices.push_back(*std::move(request));
  }
  return {};
}

}  // namespace tutti
