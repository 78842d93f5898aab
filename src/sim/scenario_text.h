/// The lines of a scenario: statements, their words and fields, and the lines indented below them.
///
/// Texts point into the scenario, which must outlive them. Columns count characters from 1.
/// Complexity: linear in the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/value.h"

namespace tutti {

/// A test that a person writes has some hundred lines.
inline constexpr std::size_t scenario_lines = 10'000;
inline constexpr std::size_t scenario_bytes = std::size_t{1} << 20U;

struct ScenarioWord {
  std::string_view text;
  Place place;
};

struct Statement {
  std::uint32_t line = 0;
  std::string_view text;            ///< The line without its comment and the blanks around it.
  std::string_view comment;         ///< "# ..." or empty.
  std::vector<ScenarioWord> words;  ///< Up to the colon; a text in quotes is one word.
  bool colon = false;
  ScenarioWord rest;  ///< Behind the colon.
  std::string_view block;
  std::uint32_t block_line = 0;   ///< Of its first line.
  std::uint32_t block_lines = 0;  ///< Without blank ones at its end.
};

/// Statements start in the first column; what is indented belongs to the one above.
Result<std::vector<Statement>> split_statements(std::string_view text);

/// An error at a word, a statement, or the end of its line.
Error wrong_at(const ScenarioWord& word, std::string what, std::string hint = {});
Error wrong_at(const Statement& statement, std::string what, std::string hint = {});

/// "8xA100-80G, cpu 64, rack=r1" and the YAML below it as one map, each value at its place:
///
///   KEY VALUE      a field of the entry; the value is YAML
///   KEY A=B C=D    the same for fields that are maps: labels, limit, nodes, ...
///   A=B            a label
///   NxMODEL        gpus
///   N tasks        tasks; also gpus, gpu, npus, npu
///   a/b VALUE      an amount of that resource
///   KEY            true
///
/// `first` stands before them, such as the name.
Result<Value> fields_of(const Statement& statement, Value::Map first);

/// The pieces of `rest` between its commas, those in brackets and quotes left alone; never empty.
Result<std::vector<ScenarioWord>> items_of(const ScenarioWord& rest);

/// An error of a text that stands at `start`.
Error moved(Error error, Place start);

/// YAML of one document, its places moved to where it stands.
Result<Value> yaml_at(std::string_view yaml, Place start);

/// The lines of a block without their common indentation.
std::vector<std::string> block_text(const Statement& statement);

}  // namespace tutti
