/// One connection to a database, through SOCI; all that is particular to SQLite stands here.
///
/// A write is durable when it returns: write-ahead log, synchronous=FULL, and the log is copied
/// into the file by us and not by SQLite, which would overlook that it failed. After an error that
/// may have lost what the operating system had accepted (fsync failed, for one), the connection
/// writes nothing any more: what the disk holds by then is known only to who opens it anew. Not for
/// several threads at once. Exceptions of SOCI end here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace soci {
class session;
}  // namespace soci

namespace tutti {

class Database {
 public:
  enum class Access : std::uint8_t {
    write,  ///< Makes the file when absent, readable by its owner only.
    read,   ///< Beside a writer in this process or another one.
  };
  static Result<Database> open(const std::string& path, Access access);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  /// Makes every later write durable when it returns. To be called before the first one, once it is
  /// clear that the file is ours: it is changed.
  Result<void> make_durable();

  using Body = std::function<Result<void>(soci::session&)>;
  /// Runs `body` in one transaction: all of it is durable afterwards, or nothing of it is there.
  Result<void> write(const Body& body);
  /// Runs `body` on one snapshot, whatever is written meanwhile.
  Result<void> read(const Body& body);

  /// A copy of the whole database as of now, at a path where nothing is yet; durable afterwards.
  Result<void> copy_to(const std::string& path);
  /// The names of its tables.
  Result<std::vector<std::string>> tables();

 private:
  struct Connection;
  explicit Database(std::unique_ptr<Connection> connection);

  Result<void> guarded(const Body& body);
  /// Copies the log into the file once it has grown long, so that it starts over.
  void shorten_log();

  std::unique_ptr<Connection> connection_;
};

}  // namespace tutti
