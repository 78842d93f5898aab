#include "store/database.h"

#include <fcntl.h>
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "store/database_error.h"
#include "store/lock_file.h"

namespace tutti {
namespace {

/// 4 MB: rarely enough to cost little, and often enough that reading the log at a start is quick.
constexpr int log_pages_max = 1000;

/// A log that grew beside a long backup is cut to 16 MB once it starts over.
constexpr int log_bytes_kept = 1 << 24;

/// A reader in another process may hold the file for a moment while it opens or closes it.
constexpr int busy_timeout_s = 5;

sqlite_api::sqlite3* raw(soci::session& session) {
  return static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_;
}

/// Else the last connection that closes copies the log into the file and removes it.
void keep_log(soci::session& session) {
  sqlite_api::sqlite3_db_config(raw(session), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

/// After some errors SQLite has done so already, and then refuses to do it again.
void roll_back(soci::session& session) {
  try {
    session.rollback();
  } catch (const std::exception&) {
    return;  // The error that led here is the one to report.
  }
}

/// Called by SQLite after each commit, with the pages that its log then has.
int count_pages(void* pages, sqlite_api::sqlite3*, const char*, int in_log) {
  *static_cast<int*>(pages) = in_log;
  return SQLITE_OK;
}

/// The file belongs to its owner alone from the first moment on; SQLite would ask the umask.
Result<void> make_private(const std::string& path) {
  const net::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.valid() || errno == EEXIST) return {};
  return fail(file_error(path, "create", errno));
}

/// SQLite syncs what it writes, but nobody has made the name of a new file durable.
Result<void> sync_folder_of(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const net::Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid()) return fail(file_error(folder, "open", errno));
  if (::fsync(opened.get()) != 0) return fail(file_error(folder, "sync", errno));
  return {};
}

}  // namespace

struct Database::Connection {
  std::string path;
  soci::session session;
  int log_pages = 0;            ///< As of the last commit.
  int code = 0;                 ///< Of the last failure, as SQLite numbers them.
  std::optional<Error> broken;  ///< Why nothing may be written any more.

  ~Connection() {
    // What could not be written to the file must stay in its log.
    if (broken && session.get_backend() != nullptr) keep_log(session);
  }
};

Database::Database(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

Result<Database> Database::open(const std::string& path, Access access) {
  if (path.find('"') != std::string::npos) {
    return fail({.code = Code::invalid,
                 .what = "a quotation mark stands in the name of the file",
                 .where = path,
                 .hint = "choose another name"});
  }
  if (access == Access::write) TRY(make_private(path));
  if (::access(path.c_str(), R_OK) != 0) return fail(file_error(path, "open", errno));
  Database out(std::make_unique<Connection>());
  out.connection_->path = path;
  try {
    out.connection_->session.open(soci::sqlite3,
                                  "db=\"" + path + "\" timeout=" + std::to_string(busy_timeout_s));
  } catch (const soci::sqlite3_soci_error& error) {
    return fail(database_error(path, error.result()));
  } catch (const std::exception& error) {
    return fail({.code = Code::io, .what = error.what(), .where = path, .hint = {}});
  }
  TRY(out.guarded([&](soci::session& session) -> Result<void> {
    sqlite_api::sqlite3_extended_result_codes(raw(session), 1);
    if (access == Access::write) return {};
    session << "PRAGMA query_only = 1";
    keep_log(session);
    return {};
  }));
  return out;
}

Result<void> Database::make_durable() {
  Connection& connection = *connection_;
  return guarded([&](soci::session& session) -> Result<void> {
    std::string mode;
    session << "PRAGMA journal_mode = WAL", soci::into(mode);
    if (mode != "wal") {
      return fail({.code = Code::io,
                   .what = "this file system allows no write-ahead log",
                   .where = connection.path,
                   .hint = "keep the journal on a disk of this machine"});
    }
    session << "PRAGMA synchronous = FULL";
    session << "PRAGMA wal_autocheckpoint = 0";
    session << "PRAGMA journal_size_limit = " << log_bytes_kept;
    sqlite_api::sqlite3_wal_hook(raw(session), count_pages, &connection.log_pages);
    return sync_folder_of(connection.path);
  });
}

Result<void> Database::guarded(const Body& body) {
  Connection& connection = *connection_;
  connection.code = SQLITE_OK;
  try {
    return body(connection.session);
  } catch (const soci::sqlite3_soci_error& error) {
    connection.code = error.result();
    return fail(database_error(connection.path, connection.code));
  } catch (const std::exception& error) {
    return fail({.code = Code::io, .what = error.what(), .where = connection.path, .hint = {}});
  }
}

Result<void> Database::write(const Body& body) {
  Connection& connection = *connection_;
  if (connection.broken) return fail(*connection.broken);
  const Result<void> done = guarded([&](soci::session& session) -> Result<void> {
    session.begin();
    TRY(body(session));
    session.commit();
    return {};
  });
  if (!done) {
    const bool doubtful = is_doubtful(connection.code);
    roll_back(connection.session);
    if (doubtful) connection.broken = done.error();
    return done;
  }
  shorten_log();
  return {};
}

void Database::shorten_log() {
  Connection& connection = *connection_;
  if (connection.log_pages < log_pages_max) return;
  connection.log_pages = 0;
  const int code = sqlite_api::sqlite3_wal_checkpoint_v2(
      raw(connection.session), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  // The rows are durable in the log. But a second try might succeed without writing what the first
  // one lost, and then the log would be reused.
  if (is_doubtful(code)) connection.broken = database_error(connection.path, code);
}

Result<void> Database::read(const Body& body) {
  return guarded([&](soci::session& session) -> Result<void> {
    const soci::transaction snapshot(session);
    return body(session);
  });
}

Result<std::vector<std::string>> Database::tables() {
  std::vector<std::string> names;
  TRY(guarded([&](soci::session& session) -> Result<void> {
    std::string name;
    soci::statement select = (session.prepare << "SELECT name FROM sqlite_master "
                                                 "WHERE type = 'table'",
                              soci::into(name));
    select.execute();
    while (select.fetch()) names.push_back(name);
    return {};
  }));
  return names;
}

Result<void> Database::copy_to(const std::string& path) {
  const net::Descriptor made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made.valid()) {
    Error error = file_error(path, "create", errno);
    if (errno == EEXIST) error.hint = "name a file that does not exist yet";
    return fail(std::move(error));
  }
  sqlite_api::sqlite3* to = nullptr;
  int code = sqlite_api::sqlite3_open_v2(path.c_str(), &to, SQLITE_OPEN_READWRITE, nullptr);
  if (code == SQLITE_OK) {
    // In one step, on one snapshot: a writer goes on beside it, into its log.
    auto* const copy =
        sqlite_api::sqlite3_backup_init(to, "main", raw(connection_->session), "main");
    code = copy == nullptr ? sqlite_api::sqlite3_extended_errcode(to)
                           : sqlite_api::sqlite3_backup_step(copy, -1);
    const int finished = copy == nullptr ? code : sqlite_api::sqlite3_backup_finish(copy);
    code = code == SQLITE_DONE ? finished : code;
  }
  sqlite_api::sqlite3_close(to);
  if (code != SQLITE_OK) {
    ::unlink(path.c_str());
    return fail(database_error(path, code));
  }
  return sync_folder_of(path);
}

}  // namespace tutti
