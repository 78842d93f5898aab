/// GET /api/v1/audit: who changed what, for administrators.
#pragma once

#include "api/audit_log.h"
#include "api/router.h"

namespace tutti {

class AuditRoutes {
 public:
  /// The log must outlive the routes.
  explicit AuditRoutes(const AuditLog& log) : log_(log) {}
  void declare(Router& router);

 private:
  void list(Call call) const;
  Result<AuditLog::Page> page_of(const net::Request& request) const;

  const AuditLog& log_;
};

}  // namespace tutti
