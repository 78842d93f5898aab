/// Any bytes: parse_scenario refuses them at a place, or the scenario runs, holds every invariant,
/// and, once rewritten to what is true, is a scenario again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "model/catalog.h"
#include "sim/scenario.h"

namespace {

/// Large fleets and gangs are as slow as they are large, and find nothing that small ones do not.
bool small(const tutti::Scenario& scenario) {
  std::size_t size = scenario.steps.size() * 10;
  for (const tutti::ScenarioJob& job : scenario.jobs) size += job.tasks;
  for (const tutti::ScenarioStep& step : scenario.steps) {
    size += step.events.size() + step.tasks.size();
    if (step.verb == tutti::Verb::refuse && step.number > 20) return false;
  }
  return size < 1000;
}

bool broken(const tutti::ScenarioFailure& failure) {
  return failure.expected == "every invariant holds" ||
         failure.expected == "the journal, replayed, gives this state" ||
         failure.expected.starts_with("the same when the workspace");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tutti;
  static const Catalog catalog = Catalog::builtin().value();
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto scenario = parse_scenario(text, &catalog);
  if (!scenario) {
    CHECK(!scenario.error().what.empty());
    CHECK(!scenario.error().where.empty(), scenario.error().what);
    return 0;
  }
  if (!small(*scenario)) return 0;
  const ScenarioResult result = run_scenario(*scenario, Trace::on);
  for (const ScenarioFailure& failure : result.failures) {
    CHECK(!broken(failure), failure.line, failure.expected, failure.actual);
  }
  const std::string fresh = rewritten(text, result.failures);
  const auto again = parse_scenario(fresh, &catalog);
  CHECK(again.has_value(), again.error().text(), fresh);
  for (const ScenarioFailure& failure : run_scenario(*again).failures) {
    CHECK(!failure.rewrite, failure.line, failure.expected, failure.actual);
  }
  return 0;
}
