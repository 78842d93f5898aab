#include "dialect/environment.h"

namespace tutti {

std::string encode_environment(std::span<const Variable> variables) {
  std::string out;
  for (const Variable& each : variables) (out += each.name + "=" + each.value) += '\0';
  return out;
}

Result<std::vector<Variable>> decode_environment(std::string_view text) {
  std::vector<Variable> out;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    const std::size_t equals = text.substr(0, end).find('=');
    if (end == text.npos || equals == text.npos || equals == 0) {
      return fail(Code::io, "the stored environment of the job is damaged");
    }
    out.push_back({std::string(text.substr(0, equals)),
                   std::string(text.substr(equals + 1, end - equals - 1))});
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace tutti
