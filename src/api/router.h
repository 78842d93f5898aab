/// Which function answers which request.
///
///   router.add("POST", "/api/v1/jobs/{}:cancel", Role::user, [&](Call call) {
///     ... call.parts[0] is the id ...
///   });
///
/// `{}` stands for one part of a path. A part may end in a verb behind a colon, which is no part of
/// the name. Unknown paths answer 404, known ones with another method 405, and who is not even what
/// a route is for 403.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/access.h"
#include "base/time.h"
#include "model/job.h"
#include "net/answer.h"
#include "net/message.h"

namespace tutti {

/// Numbers of jobs in few words: "7-9,12".
class JobRanges {
 public:
  void add(JobId id);
  std::string text() const;

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;
};

/// One request on its way through the function that answers it.
struct Call {
  net::Request request;
  std::vector<std::string> parts;  ///< What stood where the pattern has `{}`, decoded.
  User user;
  net::Answer answer;
  /// Hears how it is answered, before the answer goes out; none: nobody does.
  const std::function<void(const Call&, int status)>* answered = nullptr;
  Instant began{};
  JobRanges made{};      ///< That came of it.
  bool dry_run = false;  ///< It changed nothing, and was not to.

  /// Of a GET, a 200 has an ETag, and is a 304 where the asker has just that.
  void send(int status, std::string json);
  void send(net::Response response);
  net::OpenStream stream(net::Response head);
  net::Duplex upgrade(std::string_view protocol);
  void refuse(const Error& error);
};

/// "\"4f2c...\"": other content, other tag.
std::string etag_of(std::string_view content);

class Router {
 public:
  using Handle = std::function<void(Call)>;

  /// For those who are at least `least`.
  void add(std::string method, std::string_view pattern, Role least, Handle handle);
  /// All routes: "POST /api/v1/jobs/{}:cancel".
  std::vector<std::string> names() const;
  /// REQUIRES: the call has no parts yet. O(routes).
  void route(Call call) const;

 private:
  struct Route {
    std::string method;
    std::string path;                  ///< As it was declared ...
    std::vector<std::string> pattern;  ///< ... its segments ...
    std::string verb;                  ///< ... and what stands behind a colon in the last one.
    Role least;
    Handle handle;
  };
  static void pass_on(const Route& route, Call call);

  std::vector<Route> routes_;
};

}  // namespace tutti
