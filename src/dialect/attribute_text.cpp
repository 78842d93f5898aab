#include "dialect/attribute_text.h"

#include <algorithm>
#include <array>

#include "dialect/devices.h"

namespace tutti {
namespace {

constexpr std::array<std::string_view, 6> comparisons{"==", "!=", "<=", ">=", "<", ">"};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/';
}

/// Walks over a text that is known to be an expression.
class TestWalk {
 public:
  explicit TestWalk(std::string_view text) : text_(text) {}

  std::vector<AttributeTest> run() {
    std::vector<AttributeTest> out;
    while (at_ < text_.size()) {
      if (is_word(text_[at_])) {
        out.push_back(test());
      } else {
        ++at_;
      }
    }
    return out;
  }

 private:
  std::string_view word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void skip_space() {
    const std::size_t next = text_.find_first_not_of(" \t\n", at_);
    at_ = std::min(next, text_.size());
  }

  bool accept(std::string_view symbol) {
    if (!text_.substr(at_).starts_with(symbol)) return false;
    const std::size_t end = at_ + symbol.size();
    if (is_word(symbol.front()) && end < text_.size() && is_word(text_[end])) return false;
    at_ = end;
    skip_space();
    return true;
  }

  std::string_view value() {
    if (at_ == text_.size() || text_[at_] != '"') return word();
    const std::size_t begin = at_ + 1;
    const std::size_t end = std::min(text_.find('"', begin), text_.size());
    at_ = std::min(end + 1, text_.size());
    return text_.substr(begin, end - begin);
  }

  AttributeTest test() {
    AttributeTest out{.name = {}, .op = {}, .values = {}, .begin = at_};
    out.name = word();
    out.end = at_;
    skip_space();
    const auto* const symbol =
        std::ranges::find_if(comparisons, [this](std::string_view each) { return accept(each); });
    if (symbol != comparisons.end()) {
      out.op = *symbol;
      out.values.push_back(value());
      out.end = at_;
      return out;
    }
    const bool negated = accept("not");
    if (!accept("in")) return out;
    out.op = negated ? "not in" : "in";
    accept("(");
    do {
      out.values.push_back(value());
      skip_space();
    } while (accept(","));
    accept(")");
    out.end = at_;
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<AttributeTest> tests_of(std::string_view text) { return TestWalk(text).run(); }

std::string with_known_models(std::string_view text, const Catalog* catalog) {
  std::string out;
  std::size_t done = 0;
  for (const AttributeTest& test : tests_of(text)) {
    const bool equal = test.op == "==" || test.op == "in";
    const bool unequal = test.op == "!=" || test.op == "not in";
    if (test.name != "model" || (!equal && !unequal)) continue;
    out += text.substr(done, test.begin - done);
    std::string models = models_text(catalog, test.values);  // model == X, or: model in (X, Y)
    const std::size_t op = std::string_view("model ").size();
    if (unequal) models.replace(op, 2, models[op] == '=' ? "!=" : "not in");
    out += models;
    done = test.end;
  }
  return out + std::string(text.substr(done));
}

}  // namespace tutti
