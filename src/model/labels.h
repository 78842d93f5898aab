/// Labels, and selectors over them, with the semantics of Kubernetes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

struct Label {
  std::string key;
  std::string value;
  friend auto operator<=>(const Label&, const Label&) = default;
};

/// Labels sorted by key, each key once.
class Labels {
 public:
  Labels() = default;
  /// Later duplicates of a key win, as in a map.
  explicit Labels(std::vector<Label> labels);

  /// The value of `key`, or null.
  const std::string* find(std::string_view key) const;
  void set(std::string_view key, std::string_view value);
  void erase(std::string_view key);
  std::span<const Label> all() const { return labels_; }
  friend bool operator==(const Labels&, const Labels&) = default;

 private:
  std::vector<Label> labels_;
};

enum class Operator : std::uint8_t { in, not_in, exists, does_not_exist, greater, less };

std::string_view to_text(Operator op);

/// One requirement on one key. `greater` and `less` compare integers; a label that is missing or
/// no integer does not match them.
struct Requirement {
  std::string key;
  Operator op = Operator::in;
  std::vector<std::string> values;
  friend bool operator==(const Requirement&, const Requirement&) = default;
};

/// All requirements must hold; an empty selector matches everything.
struct Selector {
  std::vector<Requirement> requirements;
  bool matches(const Labels& labels) const;
  friend bool operator==(const Selector&, const Selector&) = default;
};

/// "rack in (r1, r2)", for messages.
std::string to_text(const Requirement& requirement);
std::string to_text(const Selector& selector);

}  // namespace tutti
