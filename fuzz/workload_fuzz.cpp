/// Any bytes: parse_workload refuses them at a place, or every job it returns is admissible.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "dialect/tutti.h"
#include "model/catalog.h"
#include "model/state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tutti;
  static const Catalog catalog = Catalog::builtin().value();
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto workload = parse_workload(text, "fuzz", &catalog);
  if (!workload) {
    CHECK(!workload.error().what.empty());
    CHECK(!workload.error().where.empty(), workload.error().what);
    return 0;
  }
  CHECK(!workload->jobs.empty());
  CHECK(!workload->mix.empty());
  State state;
  std::size_t number = 0;
  for (const Submission& job : workload->jobs) {
    if (number >= 100) break;  // Copies make many equal ones.
    CHECK(job.gpu_milli >= 0 && job.length.us >= 0 && job.at.us >= 0);
    if (!state.find_queue(job.spec->queue)) {
      const QueueSet queue{{.name = job.spec->queue}};
      if (!state.admissible(queue)) continue;
      state.apply(queue, state.now());
    }
    const auto good = state.admissible(JobSubmitted{JobId(number++), job.spec});
    CHECK(good.has_value(), good.error().what);
  }
  return 0;
}
