/// /api/v1/tokens: an administrator gives tokens away, lists them and takes them back.
#pragma once

#include <functional>

#include "api/router.h"
#include "api/tokens.h"

namespace tutti {

class TokenRoutes {
 public:
  using Clock = std::function<Instant()>;

  /// The tokens must outlive the routes.
  TokenRoutes(Tokens& tokens, Clock clock) : tokens_(tokens), clock_(std::move(clock)) {}
  void declare(Router& router);

 private:
  void list(Call call) const;
  void make(Call call);
  void revoke(Call call);

  Tokens& tokens_;
  Clock clock_;
};

}  // namespace tutti
