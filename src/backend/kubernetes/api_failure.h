/// Why an API server did not do what it was asked, as it said it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/message.h"

namespace tutti {

/// A metav1.Status, or what stands for one where none came.
struct ApiFailure {
  int status = 0;       ///< HTTP's, or the code of a Status inside a watch; 0: no answer came.
  std::string reason;   ///< "Conflict", "Expired", "NotFound"; may be empty.
  std::string message;  ///< For people.
  std::optional<Duration> retry_after;
  /// It may have been done all the same: look before you try again.
  bool maybe_done = false;
  std::string about;  ///< "GET /api/v1/pods"

  /// The version that was asked for is no longer, or not yet, to be had.
  bool expired() const { return status == 410 || reason == "Expired" || reason == "Gone"; }
  bool answered() const { return status != 0; }
  /// For people, with a way out.
  Error error() const;
};

/// What a Status says.
ApiFailure read_status(std::string_view json);
/// REQUIRES: the response is no success. Its body may be anything.
ApiFailure failure_of(const net::Response& response);

}  // namespace tutti
