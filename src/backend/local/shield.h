/// Keeps tasks out of a folder of the server whose user they share, by Landlock: they can open no
/// file there, and neither signal nor trace what is not theirs.
///
/// Landlock only knows what is allowed: all that lies beside the way to the folder when the task
/// starts, but nothing that is made later in a folder on that way. So where the user may make files
/// on that way (a home folder), they are left open, and only signals and tracing are barred.
/// A shielded task cannot mount anything either, not even in a container of its own.
#pragma once

#include <string>

#include "backend/local/system.h"

namespace tutti {

class Shield {
 public:
  /// What a task of this user cannot be kept from, for people; empty: it is kept from all.
  static std::string missing(const std::string& folder);

  Shield() = default;
  /// As much of it as there is.
  static Result<Shield> make(const std::string& folder);
  /// From now on it holds for this process and all that descend from it. False where the system
  /// refuses, with errno. REQUIRES: no new privileges.
  bool raise() const;

 private:
  explicit Shield(Descriptor rules) : rules_(std::move(rules)) {}
  Descriptor rules_;
};

}  // namespace tutti
