/// Any bytes: read_snapshot refuses them, or every node and job it returns is admissible, whether
/// the text comes whole or byte by byte.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "dialect/kubernetes.h"
#include "model/catalog.h"
#include "model/state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tutti;
  static const Catalog catalog = Catalog::builtin().value();
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  Skipped skipped{.allowed = 2};
  const auto snapshot = read_snapshot(source_of(text), "fuzz", &catalog, skipped);
  Skipped again{.allowed = 2};
  const auto slow = read_snapshot(source_of(text, 1), "fuzz", &catalog, again);
  CHECK(snapshot.has_value() == slow.has_value());
  CHECK(skipped.lines == again.lines &&
        std::ranges::equal(skipped.errors, again.errors, {}, &Error::text, &Error::text));
  if (!snapshot) {
    CHECK(snapshot.error().text() == slow.error().text());
    return 0;
  }
  CHECK(snapshot->standing.size() == snapshot->workload.jobs.size());
  State state;
  for (const NodeSpec& node : snapshot->fleet.nodes) {
    const NodeReported event{node};
    const auto good = state.admissible(event);
    if (good) state.apply(event, state.now());
    CHECK(good || good.error().code == Code::limit, good.error().what);
  }
  std::size_t number = 0;
  for (const Submission& job : snapshot->workload.jobs) {
    if (!state.find_queue(job.spec->queue)) {
      state.apply(QueueSet{{.name = job.spec->queue}}, state.now());
    }
    const auto good = state.admissible(JobSubmitted{JobId(number++), job.spec});
    CHECK(good.has_value(), good.error().what);
  }
  CHECK(state.verify().empty(), state.verify());
  return 0;
}
