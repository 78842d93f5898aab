/// Reads the events of a server, across its restarts.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "net/sse_reader.h"
#include "tutti/client.h"

namespace tutti {

struct EventTaker {
  /// Connected, maybe again; what was known may be out of date. False: that is enough.
  std::function<Result<bool>()> began;
  /// Each message once, also where one was sent twice. False: that is enough.
  std::function<Result<bool>(const net::SseReader::Message&)> take;
};

/// `query` as of GET /api/v1/events. Ends when the taker has enough, with an error that is no lost
/// connection, or, where the query says follow=false, with the answer.
Result<void> read_events(const Client& client, const std::string& query, const EventTaker& taker);

}  // namespace tutti
