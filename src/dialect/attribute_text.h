/// The tests of an expression over attributes, as they were written: for hints about words that
/// nobody knows, and for words that mean several models.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti {

class Catalog;

/// `memory >= 40Gi`, `fp8`, `vendor not in (nvidia, amd)`.
struct AttributeTest {
  std::string_view name;
  std::string_view op;                   ///< "==" and the like, "in", "not in"; empty: has it.
  std::vector<std::string_view> values;  ///< Without quotes.
  std::size_t begin = 0;                 ///< Where it stands.
  std::size_t end = 0;
};

/// In their order. REQUIRES: AttributeExpression::parse takes the text.
std::vector<AttributeTest> tests_of(std::string_view text);

/// The text with every model that is asked for spelled as devices report it: `model == A100` asks
/// for any of that family. REQUIRES: the same.
std::string with_known_models(std::string_view text, const Catalog* catalog);

}  // namespace tutti
