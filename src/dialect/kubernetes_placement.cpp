/// Where a pod may run, in the words of its spec.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "dialect/kubernetes_read.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::array<Choice<Operator>, 6> node_operators{
    {{"In", Operator::in},
     {"NotIn", Operator::not_in},
     {"Exists", Operator::exists},
     {"DoesNotExist", Operator::does_not_exist},
     {"Gt", Operator::greater},
     {"Lt", Operator::less}}};

constexpr std::array<Choice<TaintEffect>, 3> taint_effects{
    {{"NoSchedule", TaintEffect::no_schedule},
     {"PreferNoSchedule", TaintEffect::prefer_no_schedule},
     {"NoExecute", TaintEffect::no_execute}}};

/// A selector that matches nothing: no value is among none.
Selector nothing() { return {.requirements = {{.key = "", .op = Operator::in, .values = {}}}}; }

Result<Requirement> read_requirement(Reader& reader) {
  const std::span<const Choice<Operator>> choices(node_operators);
  Requirement out;
  out.key = TRY(reader.required_text("key"));
  out.op = TRY(reader.required_choice("operator", choices));
  out.values = TRY(reader.texts("values"));
  const bool takes_values = out.op == Operator::in || out.op == Operator::not_in;
  if (takes_values && out.values.empty()) {
    return fail(reader.error("values", "the operator needs at least one value"));
  }
  const bool takes_one = out.op == Operator::greater || out.op == Operator::less;
  if (takes_one && out.values.size() != 1) {
    return fail(reader.error("values", "the operator needs exactly one value"));
  }
  return out;
}

/// A term of node affinity; nullopt for an empty one, which matches no node.
Result<std::optional<Selector>> read_node_term(Reader& reader) {
  Selector out;
  out.requirements = TRY(reader.list("matchExpressions", read_requirement));
  for (Requirement& field : TRY(reader.list("matchFields", read_requirement))) {
    out.requirements.push_back(std::move(field));  // decode_node gives every node that label.
  }
  if (out.requirements.empty()) return std::nullopt;
  return out;
}

Result<bool> read_required_nodes(Reader& reader, TaskShape& shape) {
  const auto terms = TRY(reader.list("nodeSelectorTerms", read_node_term));
  for (const std::optional<Selector>& term : terms) {
    if (term) shape.nodes_any_of.push_back(*term);
  }
  if (shape.nodes_any_of.empty()) shape.nodes_any_of.push_back(nothing());
  return true;
}

Result<std::uint16_t> read_weight(Reader& reader) {
  return static_cast<std::uint16_t>(TRY(reader.required_integer("weight", 1, 100)));
}

Result<std::optional<PreferredNodes>> read_preferred_nodes(Reader& reader) {
  const std::uint16_t weight = TRY(read_weight(reader));
  const auto term = TRY(reader.required_object("preference", read_node_term));
  if (!term) return std::nullopt;
  return PreferredNodes{.weight = weight, .nodes = *term};
}

Result<bool> read_node_affinity(Reader& reader, TaskShape& shape) {
  reader.ignore_rest();
  TRY(reader.optional_object(
      "requiredDuringSchedulingIgnoredDuringExecution",
      [&](Reader& required) { return read_required_nodes(required, shape); }));
  for (auto& preferred :
       TRY(reader.list("preferredDuringSchedulingIgnoredDuringExecution", read_preferred_nodes))) {
    if (preferred) shape.preferred_nodes.push_back(*std::move(preferred));
  }
  return true;
}

Result<Selector> read_label_selector(Reader& reader) {
  Selector out;
  for (auto& [key, value] : TRY(reader.text_map("matchLabels"))) {
    out.requirements.push_back({std::move(key), Operator::in, {std::move(value)}});
  }
  for (Requirement& part : TRY(reader.list("matchExpressions", read_requirement))) {
    if (part.op == Operator::greater || part.op == Operator::less) {
      return fail(reader.error("matchExpressions", "a selector of pods cannot compare numbers"));
    }
    out.requirements.push_back(std::move(part));
  }
  return out;
}

/// `labelSelector` with the keys whose values are the pod's own. Absent, it matches nothing.
Result<Selector> read_pod_selector(Reader& reader, const Labels& own) {
  const auto selector = TRY(reader.optional_object("labelSelector", read_label_selector));
  if (!selector) return nothing();
  Selector out = *selector;
  for (const auto& [field, op] :
       {std::pair<std::string_view, Operator>{"matchLabelKeys", Operator::in},
        {"mismatchLabelKeys", Operator::not_in}}) {
    for (const std::string& key : TRY(reader.texts(field))) {
      const std::string* const value = own.find(key);
      if (value != nullptr) out.requirements.push_back({key, op, {*value}});
    }
  }
  return out;
}

Result<TaskAffinity> read_affinity_term(Reader& reader, const ObjectMeta& meta) {
  TaskAffinity out;
  out.tasks = TRY(read_pod_selector(reader, meta.labels));
  out.topology_key = TRY(reader.required_text("topologyKey"));
  out.namespaces = TRY(reader.texts("namespaces"));
  const auto spaces = TRY(reader.optional_object("namespaceSelector", read_label_selector));
  if (!spaces) return out;
  if (!spaces->requirements.empty()) {
    Error error = reader.error("namespaceSelector", "only the empty selector is understood",
                               "name the namespaces in \"namespaces\"");
    error.code = Code::unsupported;
    return fail(std::move(error));
  }
  out.namespaces = {"*"};
  return out;
}

Result<bool> read_pod_affinity(Reader& reader, const ObjectMeta& meta, bool anti,
                               TaskShape& shape) {
  reader.ignore_rest();
  const auto term = [&](Reader& inner) { return read_affinity_term(inner, meta); };
  const auto weighted = [&](Reader& inner) -> Result<TaskAffinity> {
    const std::uint16_t weight = TRY(read_weight(inner));
    TaskAffinity out = TRY(inner.required_object("podAffinityTerm", term));
    out.weight = weight;
    return out;
  };
  auto terms = TRY(reader.list("requiredDuringSchedulingIgnoredDuringExecution", term));
  for (TaskAffinity& soft :
       TRY(reader.list("preferredDuringSchedulingIgnoredDuringExecution", weighted))) {
    terms.push_back(std::move(soft));
  }
  for (TaskAffinity& each : terms) {
    each.anti = anti;
    shape.affinities.push_back(std::move(each));
  }
  return true;
}

Result<bool> read_affinities(Reader& reader, const ObjectMeta& meta, TaskShape& shape) {
  reader.ignore_rest();
  TRY(reader.optional_object("nodeAffinity",
                             [&](Reader& inner) { return read_node_affinity(inner, shape); }));
  TRY(reader.optional_object(
      "podAffinity", [&](Reader& inner) { return read_pod_affinity(inner, meta, false, shape); }));
  TRY(reader.optional_object("podAntiAffinity", [&](Reader& inner) {
    return read_pod_affinity(inner, meta, true, shape);
  }));
  return true;
}

Result<Toleration> read_toleration(Reader& reader) {
  constexpr std::array<Choice<bool>, 2> operators{{{"Equal", false}, {"Exists", true}}};
  const std::span<const Choice<bool>> choices(operators);
  const std::span<const Choice<TaintEffect>> effect_choices(taint_effects);
  TRY(reader.ignore("tolerationSeconds"));
  Toleration out;
  out.key = TRY(reader.optional_text("key")).value_or("");
  out.value = TRY(reader.optional_text("value")).value_or("");
  out.any_value = TRY(reader.optional_choice("operator", choices)).value_or(false);
  const std::string effect = TRY(reader.optional_text("effect")).value_or("");
  if (effect.empty()) return out;
  out.effect = *TRY(reader.optional_choice("effect", effect_choices));
  out.any_effect = false;
  return out;
}

Result<bool> honors(Reader& reader, std::string_view field, bool otherwise) {
  constexpr std::array<Choice<bool>, 2> words{{{"Honor", true}, {"Ignore", false}}};
  const std::span<const Choice<bool>> choices(words);
  return TRY(reader.optional_choice(field, choices)).value_or(otherwise);
}

Result<Spread> read_spread(Reader& reader, const Labels& own) {
  constexpr std::array<Choice<bool>, 2> words{{{"DoNotSchedule", true}, {"ScheduleAnyway", false}}};
  const std::span<const Choice<bool>> choices(words);
  Spread out;
  out.tasks = TRY(read_pod_selector(reader, own));
  out.topology_key = TRY(reader.required_text("topologyKey"));
  // Numbers beyond 16 bits bound nothing that a smaller one would not.
  constexpr std::int64_t most = 65'535;
  out.max_skew =
      static_cast<std::uint16_t>(std::min(most, TRY(reader.required_integer("maxSkew", 1))));
  out.min_domains = static_cast<std::uint16_t>(
      std::min(most, TRY(reader.optional_integer("minDomains", 1)).value_or(1)));
  out.required = TRY(reader.required_choice("whenUnsatisfiable", choices));
  out.honor_node_affinity = TRY(honors(reader, "nodeAffinityPolicy", true));
  out.honor_node_taints = TRY(honors(reader, "nodeTaintsPolicy", false));
  return out;
}

Result<std::optional<HostPort>> read_port(Reader& reader) {
  reader.ignore_rest();
  const auto port = TRY(reader.optional_integer("hostPort", 0, 65'535));
  if (!port || *port == 0) return std::nullopt;
  HostPort out{.port = static_cast<std::uint16_t>(*port)};
  out.protocol = TRY(reader.optional_text("protocol")).value_or("TCP");
  out.ip = TRY(reader.optional_text("hostIP")).value_or("");
  return out;
}

Result<void> read_ports(Reader& spec, std::string_view containers, TaskShape& shape) {
  const auto read = [&](Reader& container) -> Result<bool> {
    container.ignore_rest();
    for (const auto& port : TRY(container.list("ports", read_port))) {
      if (port && std::ranges::find(shape.ports, *port) == shape.ports.end()) {
        shape.ports.push_back(*port);
      }
    }
    return true;
  };
  TRY(spec.list(containers, read));
  return {};
}

}  // namespace

Result<void> read_placement(Reader& spec, const ObjectMeta& meta, TaskShape& shape) {
  for (auto& [key, value] : TRY(spec.text_map("nodeSelector"))) {
    shape.nodes.requirements.push_back({std::move(key), Operator::in, {std::move(value)}});
  }
  TRY(spec.optional_object("affinity",
                           [&](Reader& inner) { return read_affinities(inner, meta, shape); }));
  shape.tolerations = TRY(spec.list("tolerations", read_toleration));
  shape.spreads = TRY(spec.list("topologySpreadConstraints",
                                [&](Reader& inner) { return read_spread(inner, meta.labels); }));
  TRY(read_ports(spec, "containers", shape));
  TRY(read_ports(spec, "initContainers", shape));
  return {};
}

Result<std::vector<Taint>> read_node_taints(Reader& spec) {
  const auto read = [](Reader& reader) -> Result<Taint> {
    const std::span<const Choice<TaintEffect>> choices(taint_effects);
    reader.ignore_rest();
    Taint out;
    out.key = TRY(reader.required_text("key"));
    out.value = TRY(reader.optional_text("value")).value_or("");
    out.effect = TRY(reader.required_choice("effect", choices));
    return out;
  };
  return spec.list("taints", read);
}

}  // namespace tutti
