/// Expressions over device attributes: `memory >= 40Gi && fp8 && vendor in (nvidia, huawei)`.
///
///   expression := term { "||" term }          term := factor { "&&" factor }
///   factor     := "!" factor | "(" expression ")" | test
///   test       := name                        true when the device has it (a precision, a flag)
///               | name op value               op is == != < <= > >=
///               | name [ "not" ] "in" "(" value { "," value } ")"
///
/// A value is a word, a quoted text or a number with an optional quantity suffix; quotes make no
/// difference to a value that a word could spell. `memory` is in MiB, or in bytes where a suffix
/// says so; fractions compare exactly to a thousandth: `fp16_tflops >= 312.5`. An attribute that a
/// device lacks makes every test on it false, `!=` included: what nobody stated is not known to
/// differ.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/device.h"

namespace tutti {

/// Is the number of this attribute kept in thousandths? Rates are (*_tflops, *_tops, *_gb_per_s),
/// and compute_capability; all other numbers are whole.
bool in_thousandths(std::string_view attribute);

class AttributeExpression {
 public:
  /// Matches every device.
  AttributeExpression() = default;

  /// Errors carry `where` = "1:column" within the text. O(length); depth is limited.
  static Result<AttributeExpression> parse(std::string_view text);

  bool matches(const DeviceType& type) const;

  /// The canonical text; parse(text()) equals *this. Empty for "matches every device".
  const std::string& text() const { return text_; }
  bool empty() const { return nodes_.empty(); }

  friend bool operator==(const AttributeExpression& a, const AttributeExpression& b) {
    return a.text_ == b.text_;
  }

  enum class Test : std::uint8_t {
    all,
    any,
    negate,
    has,
    equal,
    unequal,
    less,
    at_most,
    greater,
    at_least,
    in,
    not_in
  };

  /// One value to compare with: a number when it reads as one, and always its text.
  struct Operand {
    bool is_number = false;
    std::int64_t number = 0;  ///< Bytes for `memory`, else thousandths.
    std::string text;
  };

  /// Nodes in postfix order: the children of a node stand before it.
  struct Node {
    Test test = Test::has;
    std::string name;
    std::vector<Operand> operands;
    std::vector<std::uint32_t> children;
  };

 private:
  friend class AttributeParser;

  std::vector<Node> nodes_;  ///< The root is the last one.
  std::string text_;
};

}  // namespace tutti
