#include "model/attribute.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/limits.h"
#include "format/quantity.h"
#include "format/text.h"

namespace tutti {
namespace {

using Test = AttributeExpression::Test;
using Operand = AttributeExpression::Operand;
using Term = AttributeExpression::Node;

constexpr std::int64_t bytes_per_mib = std::int64_t{1} << 20;
constexpr std::int64_t milli = 1000;

/// `number * factor`, or the nearest number that exists.
std::int64_t scaled(std::int64_t number, std::int64_t factor) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return std::clamp(number, -most / factor, most / factor) * factor;
}

/// What a type says under a name: a number, a word, or nothing. Numbers are in the operands' unit.
struct Found {
  bool known = false;
  bool is_number = false;
  std::int64_t number = 0;
  std::string_view text;
};

Found found_text(std::string_view text) {
  return {.known = !text.empty(), .is_number = false, .number = 0, .text = text};
}

Found look_up(const DeviceType& type, std::string_view name) {
  if (name == "vendor") return found_text(type.vendor);
  if (name == "model") return found_text(type.model);
  if (name == "profile") return found_text(type.profile);
  if (name == "kind") return found_text(to_text(type.kind));
  if (name == "memory") {
    return {.known = type.memory_mib > 0,
            .is_number = true,
            .number = scaled(type.memory_mib, bytes_per_mib),
            .text = {}};
  }
  const auto at = std::ranges::find(type.attributes, name, &Attribute::name);
  if (at == type.attributes.end()) return {};
  return {.known = true,
          .is_number = at->text.empty(),
          .number = in_thousandths(name) ? at->number : scaled(at->number, milli),
          .text = at->text};
}

bool equal(const Found& found, const Operand& operand) {
  if (found.is_number) return operand.is_number && found.number == operand.number;
  return found.text == operand.text;
}

bool in_order(Test test, std::int64_t have, std::int64_t want) {
  switch (test) {
    case Test::less:
      return have < want;
    case Test::at_most:
      return have <= want;
    case Test::greater:
      return have > want;
    default:
      return have >= want;
  }
}

bool holds(const Term& node, const DeviceType& type) {
  const Found found = look_up(type, node.name);
  if (!found.known) return false;
  const auto is = [&](const Operand& operand) { return equal(found, operand); };
  switch (node.test) {
    case Test::has:
      return !found.is_number || found.number != 0;
    case Test::equal:
      return is(node.operands.front());
    case Test::unequal:
      return !is(node.operands.front());
    case Test::in:
      return std::ranges::any_of(node.operands, is);
    case Test::not_in:
      return std::ranges::none_of(node.operands, is);
    default:
      return found.is_number && node.operands.front().is_number &&
             in_order(node.test, found.number, node.operands.front().number);
  }
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/';
}

bool plain_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_word) && text != "in" && text != "not";
}

struct Symbol {
  std::string_view text;
  Test test;
};
constexpr std::array<Symbol, 6> comparisons{{{"==", Test::equal},
                                             {"!=", Test::unequal},
                                             {"<=", Test::at_most},
                                             {">=", Test::at_least},
                                             {"<", Test::less},
                                             {">", Test::greater}}};

/// Bytes of an amount of memory; MiB where it has no suffix.
Result<std::int64_t> parse_memory(std::string_view text) {
  const bool plain =
      text.ends_with('.') || (!text.empty() && text.back() >= '0' && text.back() <= '9');
  if (!plain) return parse_quantity(text, Sign::any);
  if (const auto exact = parse_quantity(std::string(text) + "Mi", Sign::any)) return exact;
  return scaled(TRY(parse_quantity(text, Sign::any)), bytes_per_mib);  // With an exponent.
}

Operand operand_of(std::string_view name, std::string_view text) {
  Operand operand{.text = std::string(text)};
  const auto number = name == "memory" ? parse_memory(text) : parse_quantity_milli(text, Sign::any);
  operand.is_number = number.has_value();
  operand.number = number.value_or(0);
  return operand;
}

std::string operand_text(const Operand& operand) {
  return plain_word(operand.text) ? operand.text : "\"" + operand.text + "\"";
}

}  // namespace

bool in_thousandths(std::string_view attribute) {
  return attribute.ends_with("_tflops") || attribute.ends_with("_tops") ||
         attribute.ends_with("_gb_per_s") || attribute == "compute_capability";
}

/// Recursive descent over one text; appends nodes in postfix order.
class AttributeParser {
 public:
  AttributeParser(std::string_view text, AttributeExpression& out) : text_(text), out_(out) {}

  Result<void> run() {
    skip_space();
    if (at_ == text_.size()) return {};
    TRY(any(0));
    if (at_ != text_.size()) return unexpected("an operator or the end");
    out_.text_ = print(static_cast<std::uint32_t>(out_.nodes_.size() - 1), false);
    return {};
  }

 private:
  std::unexpected<Error> unexpected(std::string_view wanted) const {
    const std::string got = at_ < text_.size() ? quote(text_.substr(at_)) : "the end";
    return fail({.code = Code::invalid,
                 .what = "expected " + std::string(wanted) + ", found " + got,
                 .where = "1:" + std::to_string(at_ + 1),
                 .hint = "an example: memory >= 40Gi && fp8 && vendor in (nvidia, huawei)"});
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      ++at_;
  }

  bool accept(std::string_view symbol) {
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    skip_space();
    return true;
  }

  /// A word that must not run on: "in" is not the start of "int8".
  bool accept_word(std::string_view word) {
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && is_word(text_[end])) return false;
    return accept(word);
  }

  std::string_view take_word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    skip_space();
    return word;
  }

  std::uint32_t emit(Term node) {
    out_.nodes_.push_back(std::move(node));
    return static_cast<std::uint32_t>(out_.nodes_.size() - 1);
  }

  Result<std::uint32_t> any(unsigned depth) { return chain(depth, "||", Test::any); }
  Result<std::uint32_t> all(unsigned depth) { return chain(depth, "&&", Test::all); }

  Result<std::uint32_t> chain(unsigned depth, std::string_view symbol, Test test) {
    const auto part = [&] { return test == Test::any ? all(depth) : factor(depth); };
    std::vector<std::uint32_t> children{TRY(part())};
    while (accept(symbol)) children.push_back(TRY(part()));
    if (children.size() == 1) return children.front();
    return emit({.test = test, .name = {}, .operands = {}, .children = std::move(children)});
  }

  Result<std::uint32_t> factor(unsigned depth) {
    if (depth > limits::input_depth) return unexpected("less nesting");
    if (at_ < text_.size() && text_[at_] == '!' && !text_.substr(at_).starts_with("!=")) {
      accept("!");
      const std::uint32_t child = TRY(factor(depth + 1));
      return emit({.test = Test::negate, .name = {}, .operands = {}, .children = {child}});
    }
    if (accept("(")) {
      const std::uint32_t inner = TRY(any(depth + 1));
      if (!accept(")")) return unexpected("\")\"");
      return inner;
    }
    return comparison();
  }

  Result<std::uint32_t> comparison() {
    const std::string name(take_word());
    if (name.empty()) return unexpected("an attribute");
    for (const Symbol& symbol : comparisons) {
      if (!accept(symbol.text)) continue;
      Operand operand = TRY(value(name));
      return emit(
          {.test = symbol.test, .name = name, .operands = {std::move(operand)}, .children = {}});
    }
    const bool negated = accept_word("not");
    if (!accept_word("in")) {
      if (negated) return unexpected("\"in\"");
      return emit({.test = Test::has, .name = name, .operands = {}, .children = {}});
    }
    return list(name, negated ? Test::not_in : Test::in);
  }

  Result<std::uint32_t> list(const std::string& name, Test test) {
    if (!accept("(")) return unexpected("\"(\"");
    std::vector<Operand> operands;
    do {
      operands.push_back(TRY(value(name)));
    } while (accept(","));
    if (!accept(")")) return unexpected("\",\" or \")\"");
    return emit({.test = test, .name = name, .operands = std::move(operands), .children = {}});
  }

  Result<Operand> value(std::string_view name) {
    if (at_ == text_.size() || text_[at_] != '"') {
      const std::string_view word = take_word();
      if (word.empty()) return unexpected("a value");
      return operand_of(name, word);
    }
    const std::size_t end = text_.find('"', at_ + 1);
    if (end == std::string_view::npos) return unexpected("text with a closing quote");
    const std::string_view text = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    skip_space();
    return operand_of(name, text);
  }

  std::string print(std::uint32_t index, bool inner) const {
    const Term& node = out_.nodes_[index];
    if (node.test == Test::negate) return "!" + print(node.children.front(), true);
    if (node.test == Test::all || node.test == Test::any) {
      std::string joined;
      for (const std::uint32_t child : node.children) {
        joined += (joined.empty()           ? ""
                   : node.test == Test::all ? " && "
                                            : " || ") +
                  print(child, true);
      }
      return inner ? "(" + joined + ")" : joined;
    }
    if (node.test == Test::has) return node.name;
    if (node.test == Test::in || node.test == Test::not_in) {
      std::string listed;
      for (const Operand& operand : node.operands) {
        listed += (listed.empty() ? "" : ", ") + operand_text(operand);
      }
      return node.name + (node.test == Test::in ? " in (" : " not in (") + listed + ")";
    }
    const auto symbol = std::ranges::find(comparisons, node.test, &Symbol::test);
    return node.name + " " + std::string(symbol->text) + " " + operand_text(node.operands.front());
  }

  std::string_view text_;
  AttributeExpression& out_;
  std::size_t at_ = 0;
};

Result<AttributeExpression> AttributeExpression::parse(std::string_view text) {
  AttributeExpression expression;
  TRY(AttributeParser(text, expression).run());
  return expression;
}

bool AttributeExpression::matches(const DeviceType& type) const {
  if (nodes_.empty()) return true;
  std::vector<char> value(nodes_.size());
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    const Term& node = nodes_[at];
    const auto child = [&](std::uint32_t index) { return value[index] != 0; };
    switch (node.test) {
      case Test::all:
        value[at] = std::ranges::all_of(node.children, child);
        break;
      case Test::any:
        value[at] = std::ranges::any_of(node.children, child);
        break;
      case Test::negate:
        value[at] = !child(node.children.front());
        break;
      default:
        value[at] = holds(node, type);
    }
  }
  return value.back() != 0;
}

}  // namespace tutti
