/// What the calls of one ApiClient share, and one of them. Internal to api_client.
#pragma once

#include <array>
#include <deque>
#include <limits>
#include <memory>
#include <string>

#include "backend/kubernetes/api_client.h"
#include "backend/kubernetes/backoff.h"
#include "base/prng.h"

namespace tutti {

/// waiting -> in flight -> (waiting again) -> ended
struct ApiJob {
  bool is_write() const { return request.verb >= Verb::create; }
  bool follows() const { return request.verb == Verb::watch; }

  ApiRequest request;
  ApiClient::Done done;  ///< One of these two.
  ApiClient::Follower follower;
  Instant until;
  Backoff backoff;
  bool ended = false;  ///< Nobody is told anything any more.
  bool in_flight = false;
  bool renewed = false;   ///< Once for this request, after a 401.
  bool refused = false;   ///< A response that is followed is no success.
  net::Response refusal;  ///< Then, what came of it.
  Ticket attempt;
  Ticket pause;
  Ticket deadline;
};

struct ApiCore : std::enable_shared_from_this<ApiCore> {
  using Job = std::shared_ptr<ApiJob>;
  struct Lane {
    std::size_t room = 0;
    std::size_t in_flight = 0;
    std::deque<Job> waiting;
  };

  ApiCore(Wire& on, Credentials with, ApiSettings said);

  Lane& lane_of(const ApiJob& job) { return lanes[job.follows() ? 2 : job.is_write() ? 1 : 0]; }
  void add(const Job& job);
  void cancel(const Job& job);

  /// Starts what there is room for.
  void pump();
  void renew();
  void renewed(Result<void> result);
  void start(const Job& job);
  WireRequest as_sent(const ApiJob& job) const;

  void take_response(const Job& job, Result<net::Response> got);
  void take_head(const Job& job, const net::Response& head);
  void take_body(const Job& job, std::string_view piece);
  void take_end(const Job& job, Result<void> end);
  /// Tries again, now or later, or gives up.
  void take_failure(const Job& job, ApiFailure failure);
  void out_of_time(const Job& job);

  void land(ApiJob& job);
  void fail(const Job& job, ApiFailure failure);

  Wire& wire;
  Credentials credentials;
  ApiSettings settings;
  Prng prng;
  std::array<Lane, 3> lanes;  ///< Reads, writes, and what is followed.
  Credential shown;
  bool renewing = false;
  Ticket soon;  ///< Tells those that wait for credentials that there are none.
};

}  // namespace tutti
