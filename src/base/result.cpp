#include "base/result.h"

namespace tutti {

std::string Error::text() const {
  std::string out = "error: ";
  if (!where.empty()) out += where + ": ";
  out += what + "\n";
  if (!hint.empty()) out += "hint:  " + hint + "\n";
  return out;
}

Error Error::at(std::string_view place) && {
  where = where.empty() ? std::string(place) : std::string(place) + ":" + where;
  return std::move(*this);
}

std::unexpected<Error> fail(Code code, std::string what, std::string hint) {
  return std::unexpected(Error{code, std::move(what), {}, std::move(hint)});
}

std::unexpected<Error> fail(Error error) { return std::unexpected(std::move(error)); }

}  // namespace tutti
