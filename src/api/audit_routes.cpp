#include "api/audit_routes.h"

#include <string>
#include <utility>

#include "api/query.h"
#include "format/json.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::size_t lines_most = 1000;
constexpr std::size_t page_usual = 100;

}  // namespace

void AuditRoutes::declare(Router& router) {
  router.add("GET", "/api/v1/audit", Role::admin, [this](Call call) { list(std::move(call)); });
}

Result<AuditLog::Page> AuditRoutes::page_of(const net::Request& request) const {
  TRY(only_known(request, {"limit", "cursor"}));
  std::uint64_t before = log_.end();
  if (const auto cursor = request.query_value("cursor")) {
    const auto given = natural(*cursor);
    if (!given || *given == 0 || *given > before) {
      return fail(Code::invalid, "the cursor is none that this server gave");
    }
    before = *given;
  }
  std::size_t most = page_usual;
  if (const auto limit = request.query_value("limit")) {
    const auto given = natural<std::size_t>(*limit);
    if (!given || *given == 0 || *given > lines_most) {
      return fail(Code::invalid, "limit is " + quote(*limit) + "; 1 to 1000 lines fit on a page");
    }
    most = *given;
  }
  return log_.read(before, most);
}

void AuditRoutes::list(Call call) const {
  const Result<AuditLog::Page> page = page_of(call.request);
  if (!page) return call.refuse(page.error());
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("entries").begin_list();
  for (const std::string& line : page->lines) {
    // A power cut may leave half a line.
    parse_json(line) ? json.raw(line) : json.begin_object().member("damaged", true).end_object();
  }
  json.end_list().key("next");
  page->next ? json.value(std::to_string(*page->next)) : json.null();
  json.end_object();
  call.send(200, std::move(out));
}

}  // namespace tutti
