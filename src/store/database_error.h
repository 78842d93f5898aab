/// What the result codes of SQLite mean for whoever keeps a journal.
#pragma once

#include <string>

#include "base/result.h"

namespace tutti {

/// The error of the extended result code `code`, about the database at `path`.
Error database_error(const std::string& path, int code);

/// Is it unknown, after this code, what the disk holds? A full disk is no such case: nothing of the
/// write is there, and a later one may succeed.
bool is_doubtful(int code);

}  // namespace tutti
