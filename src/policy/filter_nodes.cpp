/// Filters that only a node's description decides: its labels, taints and software stacks.
#include "policy/eligible.h"
#include "policy/makers.h"

namespace tutti {
namespace {

class NodeSelectorFilter final : public Filter {
 public:
  std::string_view name() const override { return "node_selector"; }
  Depends depends_on() const override { return Depends::class_and_description; }
  bool concerns(const TaskClass& task) const override {
    return !task.spec().nodes.requirements.empty() || !task.spec().nodes_any_of.empty();
  }
  Reject check(const TaskClass& task, const View& view, NodeIndex node) const override {
    if (selects(task.spec(), view.fleet().node(node))) return {};
    return {Reason::selector_mismatch};
  }
};

class TaintFilter final : public Filter {
 public:
  std::string_view name() const override { return "taints"; }
  Depends depends_on() const override { return Depends::class_and_description; }
  bool concerns(const TaskClass&) const override { return true; }
  Reject check(const TaskClass& task, const View& view, NodeIndex node) const override {
    const int row = untolerated(task.spec(), view.fleet().node(node));
    if (row < 0) return {};
    return {Reason::taint_not_tolerated, static_cast<std::uint32_t>(row)};
  }
};

class StackFilter final : public Filter {
 public:
  std::string_view name() const override { return "stack"; }
  Depends depends_on() const override { return Depends::class_and_description; }
  bool concerns(const TaskClass& task) const override { return !task.spec().stack.empty(); }
  Reject check(const TaskClass& task, const View& view, NodeIndex node) const override {
    const auto& wanted = task.spec().stack;
    for (std::size_t at = 0; at < wanted.size(); ++at) {
      if (stack_holds(wanted[at], view.fleet().node(node).stack)) continue;
      return {Reason::stack_mismatch, static_cast<std::uint32_t>(at)};
    }
    return {};
  }
};

class PortFilter final : public Filter {
 public:
  std::string_view name() const override { return "ports"; }
  Depends depends_on() const override { return Depends::class_and_node; }
  bool concerns(const TaskClass& task) const override { return !task.spec().ports.empty(); }
  Reject check(const TaskClass& task, const View& view, NodeIndex node) const override {
    for (const Usage::ShapeCount& count : view.usage.shapes(node)) {
      for (const HostPort& taken : view.state.shape(count.shape).spec.ports) {
        for (const HostPort& wanted : task.spec().ports) {
          if (wanted.conflicts(taken)) return {Reason::port_taken, wanted.port};
        }
      }
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<const Filter> make_node_selector() {
  return std::make_unique<NodeSelectorFilter>();
}
std::unique_ptr<const Filter> make_taints() { return std::make_unique<TaintFilter>(); }
std::unique_ptr<const Filter> make_stack() { return std::make_unique<StackFilter>(); }
std::unique_ptr<const Filter> make_ports() { return std::make_unique<PortFilter>(); }

}  // namespace tutti
