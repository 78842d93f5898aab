/// Structs of a checkpoint, by the fields that codec_fields.h lists. Private to model/.
///
/// A struct is a number whose bits say which fields differ from their defaults, and these fields.
/// Which bit is which field stands once in the checkpoint, by name, so that a field that was added
/// later means, where it is absent, what its absence meant; one that is not known is refused.
/// Enumerations are words. Shapes and gangs' specs are numbers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/checkpoint_bytes.h"
#include "model/codec_write.h"

namespace tutti::codec {

/// The structs, with the names that they have in checkpoints.
template <class... T>
struct StructList {
  static constexpr std::size_t size = sizeof...(T);
  template <class U>
  static consteval std::size_t index_of() {
    static_assert((std::is_same_v<U, T> || ...), "list the struct below");
    std::size_t index = 0;
    const bool found = ((std::is_same_v<U, T> || (++index, false)) || ...);
    return found ? index : size;
  }
  static void each(auto&& visit) { (visit(Of<T>{}), ...); }
};
using Structs = StructList<Label, NamedAmount, Requirement, Selector, Closeness, DeviceRequest,
                           Toleration, StackRequirement, PreferredNodes, TaskAffinity, Spread,
                           HostPort, TaskShape, LaunchSpec, RoleSpec, GroupSpec, GangSpec,
                           Dependency, GangRule, JobRules, IndexRange, JobSpec, Attribute,
                           DeviceType, Device, Taint, StackVersion, TreeSpec, QueueSpec>;
inline constexpr std::array<std::string_view, Structs::size> struct_names{
    "label",       "amount",
    "requirement", "selector",
    "closeness",   "device_request",
    "toleration",  "stack_requirement",
    "preferred",   "task_affinity",
    "spread",      "host_port",
    "shape",       "launch",
    "role",        "group",
    "gang",        "dependency",
    "gang_rule",   "rules",
    "range",       "job",
    "attribute",   "device_type",
    "device",      "taint",
    "stack",       "tree",
    "queue"};

/// Which of our fields has which bit, for each struct.
using Bindings = std::array<std::vector<std::uint8_t>, Structs::size>;
void write_bindings(BytesOut& out);
Bindings read_bindings(BytesIn& in);

class BytesWriter {
 public:
  virtual ~BytesWriter() = default;

  template <Described T>
  void members(BytesOut& out, const T& value) {
    [[maybe_unused]] static const T defaults{};
    std::uint64_t differs = 0;
    std::uint64_t bit = 1;
    const auto compare = [&](std::string_view, auto pointer) {
      if (!(value.*pointer == defaults.*pointer)) differs |= bit;
      bit <<= 1U;
    };
    fields(compare, Of<T>{});
    out.number(differs);
    bit = 1;
    const auto member = [&](std::string_view, auto pointer) {
      if ((differs & bit) != 0) write(out, value.*pointer);
      bit <<= 1U;
    };
    fields(member, Of<T>{});
  }

 protected:
  virtual void write_shape(BytesOut& out, const TaskShape& shape) = 0;
  virtual void write_gang(BytesOut& out, const std::shared_ptr<const GangSpec>& gang) = 0;

 private:
  template <Described T>
  void write(BytesOut& out, const T& value) {
    members(out, value);
  }
  template <Worded T>
  void write(BytesOut& out, T value) {
    out.text(to_text(value));
  }
  template <std::integral T>
  void write(BytesOut& out, T number) {
    if constexpr (std::is_signed_v<T>) {
      out.signed_number(number);
    } else {
      out.number(number);
    }
  }
  template <class Tag, class Rep>
  void write(BytesOut& out, Index<Tag, Rep> index) {
    out.index(index);
  }
  template <class T>
  void write(BytesOut& out, const std::vector<T>& items) {
    out.number(items.size());
    for (const T& item : items) write(out, item);
  }
  void write(BytesOut& out, const TaskShape& shape) { write_shape(out, shape); }
  void write(BytesOut& out, const std::shared_ptr<const GangSpec>& gang) { write_gang(out, gang); }
  void write(BytesOut& out, Duration length) { out.signed_number(length.us); }
  void write(BytesOut& out, const AttributeExpression& expression) { out.text(expression.text()); }
  void write(BytesOut& out, const std::string& text) { out.text(text); }
  void write(BytesOut& out, const Labels& labels) {
    write(out, std::vector<Label>(labels.all().begin(), labels.all().end()));
  }
};

class FieldReader {
 public:
  explicit FieldReader(BytesIn& in) : in_(in) {}
  virtual ~FieldReader() = default;

  void bind(Bindings bindings) { bindings_ = std::move(bindings); }
  template <Described T>
  void members(T& value) {
    const std::vector<std::uint8_t>& own = bindings_[Structs::index_of<T>()];
    for (std::uint64_t left = in_.number(); left != 0 && in_.ok(); left &= left - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(left));
      if (bit >= own.size()) {
        in_.refuse("a field that was not declared");
        return;
      }
      std::uint8_t at = 0;
      const auto member = [&](std::string_view, auto pointer) {
        if (at++ == own[bit]) read(value.*pointer);
      };
      fields(member, Of<T>{});
    }
  }

 protected:
  virtual void read_shape(TaskShape& shape) = 0;
  virtual void read_gang(std::shared_ptr<const GangSpec>& gang) = 0;

 private:
  template <Described T>
  void read(T& value) {
    members(value);
  }
  template <Worded T>
  void read(T& value) {
    const std::string_view word = in_.text();
    for (int at = 0; at <= static_cast<int>(last_of(Of<T>{})); ++at) {
      value = static_cast<T>(at);
      if (to_text(value) == word) return;
    }
    in_.refuse("the word \"" + std::string(word.substr(0, 40)) + "\" is not known here");
  }
  template <std::integral T>
  void read(T& number) {
    if constexpr (std::is_signed_v<T>) {
      const std::int64_t wide = in_.signed_number();
      if (!std::in_range<T>(wide)) in_.refuse("a number is out of its range");
      number = static_cast<T>(wide);
    } else {
      number = static_cast<T>(in_.number_to(std::numeric_limits<T>::max(), "a number"));
    }
  }
  template <class Tag, class Rep>
  void read(Index<Tag, Rep>& index) {
    const std::uint64_t shifted =
        in_.number_to(std::numeric_limits<Rep>::max(), "a number of a row");
    index = Index<Tag, Rep>(shifted - 1);
  }
  template <class T>
  void read(std::vector<T>& items) {
    std::size_t left = in_.count();
    items.clear();
    items.reserve(std::min<std::size_t>(left, 16));
    for (; left > 0 && in_.ok(); --left) read(items.emplace_back());
  }
  void read(TaskShape& shape) { read_shape(shape); }
  void read(std::shared_ptr<const GangSpec>& gang) { read_gang(gang); }
  void read(Duration& length) { read(length.us); }
  void read(AttributeExpression& expression);
  void read(std::string& text) { text = in_.text(); }
  void read(Labels& labels);

  BytesIn& in_;
  Bindings bindings_;
};

}  // namespace tutti::codec
