/// Requests to one Kubernetes API server: verb and path, back-off, and limits.
///
///   ApiClient api(wire, Credentials(access, surroundings), {});
///   const ApiCall call = api.send({.verb = Verb::get, .path = "/api/v1/nodes/n0"}, done);
///
/// - Reads are repeated, with jittered back-off, until their deadline. A write is repeated only
///   where the server surely did not do it: 429, and 503 with Retry-After. When no answer comes, or
///   one that leaves it open, the failure says `maybe_done`, and whoever asked looks again.
/// - 401 renews the credentials and tries once more.
/// - Of reads and of writes so many are in flight at once; the others wait their turn. Responses
///   that are followed do not count.
/// - A deadline is for all of it: waiting, tries, answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "backend/kubernetes/api_failure.h"
#include "backend/kubernetes/credentials.h"
#include "backend/kubernetes/wire.h"
#include "base/time.h"
#include "net/message.h"

namespace tutti {

enum class Verb : std::uint8_t { get, list, watch, create, update, patch, remove };

struct ApiRequest {
  Verb verb = Verb::get;
  std::string path;   ///< "/api/v1/pods"
  std::string query;  ///< "limit=500", encoded; may be empty.
  std::string body;
  std::string content_type = "application/json";  ///< Of the body.
  Duration deadline = Duration::seconds(30);
  Duration silence = Duration::max();  ///< See WireRequest.
  bool once = false;                   ///< Whoever asks repeats it, if at all.
};

struct ApiSettings {
  std::size_t reads = 8;  ///< In flight at once.
  std::size_t writes = 32;
  std::uint64_t seed = 1;  ///< Of the jitter.
  std::string agent = "tutti";
};

template <class T>
using ApiResult = std::expected<T, ApiFailure>;

struct ApiJob;
struct ApiCore;

/// A request on its way. Dropping it cancels it: none of its callbacks comes any more.
class [[nodiscard]] ApiCall {
 public:
  ApiCall() = default;
  ApiCall(ApiCall&&) noexcept;
  ApiCall& operator=(ApiCall&& other) noexcept;
  ~ApiCall();

 private:
  friend class ApiClient;
  ApiCall(std::weak_ptr<ApiCore> core, std::shared_ptr<ApiJob> job);
  std::weak_ptr<ApiCore> core_;
  std::shared_ptr<ApiJob> job_;
};

class ApiClient {
 public:
  using Done = std::move_only_function<void(ApiResult<net::Response>)>;
  /// `begin` comes when the server agrees to send; then pieces of its answer; `end` last, once.
  struct Follower {
    std::function<void()> begin;
    std::function<void(std::string_view)> body;
    std::move_only_function<void(ApiResult<void>)> end;
  };

  /// `wire` must outlive it.
  ApiClient(Wire& wire, Credentials credentials, ApiSettings settings = {});
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;
  ~ApiClient();

  ApiCall send(ApiRequest request, Done done);
  /// Never repeated, but after 401.
  ApiCall follow(ApiRequest request, Follower follower);

  Wire& wire();
  /// Reads and writes that are in flight now.
  std::size_t in_flight() const;

 private:
  ApiCall begin(std::shared_ptr<ApiJob> job);

  std::shared_ptr<ApiCore> core_;
};

}  // namespace tutti
