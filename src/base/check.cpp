#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tutti::detail {

void check_failed(std::string_view expression, std::string_view file, int line,
                  const std::string& values) {
  std::fprintf(stderr, "CHECK failed: %.*s\n  at %.*s:%d\n", static_cast<int>(expression.size()),
               expression.data(), static_cast<int>(file.size()), file.data(), line);
  if (!values.empty()) std::fprintf(stderr, "  values: %s\n", values.c_str());
  std::abort();
}

}  // namespace tutti::detail
