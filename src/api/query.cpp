#include "api/query.h"

#include <algorithm>
#include <span>
#include <string>

#include "format/text.h"

namespace tutti {

Result<void> only_known(const net::Request& request,
                        std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(known, name) == known.end()) {
      return fail(Code::invalid, "unknown parameter " + quote(name),
                  did_you_mean(name, std::span(known.begin(), known.size())));
    }
    if (std::ranges::count(request.query, name, [](const auto& each) { return each.first; }) > 1) {
      return fail(Code::invalid, "the parameter " + quote(name) + " stands there twice");
    }
  }
  return {};
}

}  // namespace tutti
