#include "backend/kubernetes/api_failure.h"

#include <fmt/core.h>

#include <charconv>

#include "format/json.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::int64_t retry_seconds_max = 3600;

std::string text_at(const Value& map, std::string_view name) {
  const Value* const value = map.find(name);
  return value != nullptr && value->is(Kind::text) ? std::string(value->text_value()) : "";
}

std::int64_t number_at(const Value& map, std::string_view name) {
  const Value* const value = map.find(name);
  return value != nullptr && value->is(Kind::integer) ? value->integer_value() : 0;
}

/// The delay in seconds that a server asks for; dates are not worth reading.
std::optional<Duration> read_retry_after(const net::Headers& headers) {
  const auto text = headers.find("Retry-After");
  std::int64_t seconds = 0;
  if (!text) return std::nullopt;
  const auto [rest, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (error != std::errc() || seconds < 0) return std::nullopt;
  return Duration::seconds(std::min(seconds, retry_seconds_max));
}

std::string way_out(const ApiFailure& failure) {
  if (failure.maybe_done) return "it may have been done all the same: look before you try again";
  switch (failure.status) {
    case 0:
      return "is the API server up, and is the address in the kubeconfig right?";
    case 401:
      return "the credentials of the kubeconfig are not, or no longer, accepted";
    case 403:
      return "grant this right; deploy/kubernetes lists all that are needed";
    default:
      return "";
  }
}

}  // namespace

Error ApiFailure::error() const {
  std::string what = message;
  if (what.empty()) what = net::reason_phrase(status);
  if (status != 0) what = fmt::format("{} ({})", what, status);
  Code code = Code::io;
  if (status == 401 || status == 403) code = Code::denied;
  if (status == 404) code = Code::not_found;
  if (status == 409) code = Code::conflict;
  if (status == 400 || status == 422) code = Code::invalid;
  return {.code = code, .what = std::move(what), .where = about, .hint = way_out(*this)};
}

ApiFailure read_status(std::string_view json) {
  ApiFailure out;
  const auto parsed = parse_json(json);
  if (!parsed || text_at(*parsed, "kind") != "Status") return out;
  constexpr std::int64_t codes = 1000;
  if (const std::int64_t code = number_at(*parsed, "code"); code > 0 && code < codes) {
    out.status = static_cast<int>(code);
  }
  out.reason = text_at(*parsed, "reason");
  out.message = text_at(*parsed, "message");
  if (const Value* const details = parsed->find("details")) {
    const std::int64_t seconds = number_at(*details, "retryAfterSeconds");
    if (seconds > 0) out.retry_after = Duration::seconds(std::min(seconds, retry_seconds_max));
  }
  return out;
}

ApiFailure failure_of(const net::Response& response) {
  constexpr std::size_t shown = 300;
  ApiFailure out = read_status(response.body);
  out.status = response.status;
  if (out.message.empty() && out.reason.empty()) {
    // A proxy's page, or "404 page not found".
    std::string_view text(response.body);
    text = text.substr(0, text.find_last_not_of(" \r\n") + 1);
    const bool plain = !text.empty() && text.size() < shown && !text.starts_with('<') &&
                       text.find_first_of("\r\n") == text.npos && !first_invalid_utf8(text);
    out.message = plain ? text : net::reason_phrase(response.status);
  }
  if (const auto header = read_retry_after(response.headers)) out.retry_after = header;
  return out;
}

}  // namespace tutti
