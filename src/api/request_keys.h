/// Who sends a request again, because he never heard the answer, gets that answer and no second
/// job: the header Idempotency-Key names a request, and the jobs that came of it keep that name in
/// the journal.
///
/// Names belong to who sends them, and are remembered for a day. Belongs to the readers' thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/happening.h"
#include "api/router.h"
#include "base/result.h"
#include "model/checkpoint.h"

namespace tutti {

/// A request as JobSubmitted::request keeps it.
struct RequestKey {
  std::string name;           ///< The key and who sent it: "8f14e45f ana".
  std::uint64_t content = 0;  ///< A hash of what was sent.

  /// None where the header is not there.
  static Result<std::optional<RequestKey>> of(const Call& call);
  /// Of one part of a request that is done in parts.
  RequestKey part(std::size_t number, std::string_view text) const;

  static std::optional<RequestKey> parse(std::string_view text);
  std::string text() const;
};

class RequestKeys {
 public:
  static constexpr Duration remembered = Duration::seconds(std::int64_t{24} * 3600);

  struct Known {
    std::uint64_t content = 0;
    Instant at;
    std::vector<JobId> jobs;
  };

  void apply(const Happening& happening);
  const Known* find(const std::string& name) const;

  /// As a section of a checkpoint, and from there, into an empty table.
  void write(CheckpointWriter& to) const;
  Result<void> read(CheckpointReader& from);

 private:
  std::map<std::string, Known> known_;
  std::deque<std::pair<Instant, std::string>> ages_;  ///< The oldest first.
};

}  // namespace tutti
