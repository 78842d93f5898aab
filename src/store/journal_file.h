/// The journal in a file: every event as one numbered line, durable before `append` returns.
///
/// - One append is one transaction of SQLite and one wait for the disk, however many events it has.
/// - Rows are numbered from 1 without a gap, and chained by hashes (chain.h). A missing, damaged or
///   changed row is an error with its number; nothing is skipped, mended or guessed.
/// - Lines are those of model/codec.h, so that what an old version wrote is read for ever.
/// - One process writes (lock_file.h); any number may read beside it.
/// - Old rows may be dropped, once a checkpoint stands for them (checkpoint_file.h).
/// - An append that failed left nothing. Where that is in doubt (the disk failed), all later ones
///   are refused until the journal is opened anew.
///
/// Beside NAME there are NAME.lock, NAME.head (head_file.h), and while it is open NAME-wal and
/// NAME-shm, which are part of it. To restore a backup, remove all of these and copy it to NAME.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/journal.h"

namespace tutti {

class JournalFile final : public Journal {
 public:
  /// The newest arrangement of tables that this version knows, and the one that it writes.
  static constexpr int format = 1;

  enum class Access : std::uint8_t {
    write,  ///< Made when absent; refused while another process has it.
    read,   ///< For replays, checks and backups, also while a server writes.
  };
  static Result<std::unique_ptr<JournalFile>> open(const std::string& path,
                                                   Access access = Access::write);
  ~JournalFile() override;
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  /// Refused where it was opened to read.
  Result<void> append(std::span<const Event> events, Instant at) override;

  /// Who decides from a row on, until the next one: what a replay needs to decide the same.
  struct Decider {
    std::uint64_t first = 0;  ///< The first row that can be its; note_decider knows it.
    std::string version;      ///< Of Tutti.
    std::string policy;
    std::string policy_text;  ///< Of its file; empty where it is built in.
    friend bool operator==(const Decider&, const Decider&) = default;
  };
  /// From the next row on; nothing where that is so already. REQUIRES: opened to write.
  Result<void> note_decider(Decider decider);
  /// The oldest first; none where an older version wrote the journal.
  Result<std::vector<Decider>> deciders() const;

  const std::string& path() const { return path_; }
  /// The number of the newest row as of the opening and our own appends; 0 when there is none.
  std::uint64_t rows() const { return rows_; }
  /// What everything up to there hashes to; note it elsewhere to prove later that nothing changed.
  const std::string& last_hash() const { return last_hash_; }

  using Visit = std::function<Result<void>(std::uint64_t row, const Event& event, Instant at)>;
  /// Hands over rows `first` to rows() in order, each after its hash was checked; the first error,
  /// also one of `visit`, ends it. O(rows) time, and memory for one row.
  /// REQUIRES: first > 0, and `visit` does not append.
  Result<void> replay(std::uint64_t first, const Visit& visit) {
    return replay(first, rows_, visit);
  }
  /// The same, up to row `last`. REQUIRES: last <= rows().
  Result<void> replay(std::uint64_t first, std::uint64_t last, const Visit& visit);

  /// The first row that is kept; those before were dropped.
  std::uint64_t first_row() const;
  /// What everything up to that row hashes to, as it is written there; to be compared with what
  /// somebody noted. Also of the row before the first one. REQUIRES: row <= rows().
  Result<std::string> hash_at(std::uint64_t row) const;
  /// Drops rows from the first one on, up to `last` at most, and at most so many, and none that is
  /// not older than `before`; says how many. Others go on reading what they read.
  /// REQUIRES: opened to write; somebody has a checkpoint of `last` or a later row.
  Result<std::uint64_t> drop(std::uint64_t last, std::uint64_t most, Instant before);

  /// A copy of the journal as of now in one file that can be opened as a journal. On a connection
  /// of its own, so that another thread may do it while the owner appends. Nothing is overwritten.
  Result<void> backup_to(const std::string& path) const;

 private:
  struct Store;
  JournalFile(std::unique_ptr<Store> store, std::string path);

  /// Refuses what is not a journal of ours before anything of it is changed.
  Result<void> check_tables();
  Result<void> check_format();
  Result<void> create();
  Result<void> find_end();
  /// Has it the row that was noted as acknowledged?
  Result<void> check_end(std::uint64_t noted, const std::string& noted_hash) const;
  using VisitLine = std::function<Result<void>(std::uint64_t row, const std::string& line)>;
  /// Hands over the lines of rows `first` to `last`, checked; returns the hash of the last one.
  Result<std::string> scan(std::uint64_t first, std::uint64_t last, const VisitLine& visit) const;
  Error damaged(std::uint64_t row, const std::string& what) const;
  Error compacted(std::uint64_t row) const;

  std::unique_ptr<Store> store_;
  std::string path_;
  std::uint64_t rows_ = 0;
  std::string last_hash_;
};

}  // namespace tutti
