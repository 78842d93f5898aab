/// What must not stand in a journal, kept apart and called by name: environments of jobs, tokens.
///
/// One file a secret, mode 0600, in a folder of mode 0700. Written as a whole, and durable before
/// whoever names it can be.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tutti {

class SecretFolder {
 public:
  /// The folder is made where there is none.
  static Result<SecretFolder> open(const std::string& path);

  /// Takes the place of what was called so. REQUIRES: letters, digits, '-', '_' and '.' in the
  /// name, which does not begin with '.'.
  Result<void> put(std::string_view name, std::string_view secret) const;
  /// Code::not_found where there is none.
  Result<std::string> get(std::string_view name) const;
  /// Where there is none, it is gone already.
  void remove(std::string_view name) const;

 private:
  explicit SecretFolder(std::string path) : path_(std::move(path)) {}
  std::string path_of(std::string_view name) const;

  std::string path_;
};

}  // namespace tutti
