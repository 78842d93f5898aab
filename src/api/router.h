/// Which function answers which request.
///
///   router.add("POST", "/api/v1/jobs/{}:cancel", [&](Call call) { ... call.parts[0] is the id ...
///   });
///
/// `{}` stands for one part of a path. A part may end in a verb behind a colon, which is no part of
/// the name. Unknown paths answer 404, known ones with another method 405.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/access.h"
#include "base/time.h"
#include "net/answer.h"
#include "net/message.h"

namespace tutti {

class HttpMeter;

/// One request on its way through the function that answers it.
struct Call {
  net::Request request;
  std::vector<std::string> parts;  ///< What stood where the pattern has `{}`, decoded.
  User user;
  net::Answer answer;
  HttpMeter* meter = nullptr;  ///< Counts the answer, where there is one.
  Instant began;

  /// Of a GET, a 200 has an ETag, and is a 304 where the asker has just that.
  void send(int status, std::string json);
  void send(net::Response response);
  net::OpenStream stream(net::Response head);
  void refuse(const Error& error);
  bool may_touch(std::string_view owner) const {
    return user.role == Role::admin || user.name == owner;
  }
};

/// "\"4f2c...\"": other content, other tag.
std::string etag_of(std::string_view content);

class Router {
 public:
  using Handle = std::function<void(Call)>;

  void add(std::string method, std::string_view pattern, Handle handle);
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
    Handle handle;
  };

  std::vector<Route> routes_;
};

}  // namespace tutti
