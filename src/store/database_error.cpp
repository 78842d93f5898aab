#include "store/database_error.h"

#include <sqlite3.h>

namespace tutti {
namespace {

constexpr int primary(int code) { return code & 0xff; }

Error describe(int code) {
  switch (primary(code)) {
    case SQLITE_FULL:
      return {.code = Code::io,
              .what = "the disk is full",
              .hint = "free some space there; what was acknowledged is kept"};
    case SQLITE_NOTADB:
      return {.code = Code::invalid,
              .what = "not a journal: SQLite cannot read this file",
              .hint = "name another file, or restore a backup"};
    case SQLITE_CORRUPT:
      return {.code = Code::invalid,
              .what = "the file is damaged",
              .hint = "restore a backup, and check the disk"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {.code = Code::conflict,
              .what = "another program keeps the file locked",
              .hint = "end the program that has it open, such as sqlite3"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return {.code = Code::io,
              .what = "the file or its folder may not be written",
              .hint =
                  "give this user the right to write there, and check that the disk is not "
                  "mounted read-only"};
    case SQLITE_IOERR:
      return {.code = Code::io,
              .what = "the disk failed",
              .hint = "check the disk, then start again: what was acknowledged is read back"};
    default:
      return {.code = Code::io, .what = "SQLite failed", .hint = {}};
  }
}

}  // namespace

Error database_error(const std::string& path, int code) {
  Error error = describe(code);
  error.what += " (SQLite " + std::to_string(code) + ": " + sqlite3_errstr(code) + ")";
  error.where = path;
  return error;
}

bool is_doubtful(int code) { return primary(code) == SQLITE_IOERR; }

}  // namespace tutti
