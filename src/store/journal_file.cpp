#include "store/journal_file.h"

#include <soci/soci.h>

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "model/codec.h"
#include "store/chain.h"
#include "store/database.h"
#include "store/head_file.h"
#include "store/lock_file.h"
#include "store/row_decoder.h"

namespace tutti {
namespace {

/// Where fewer are read, threads take longer than they save.
constexpr std::uint64_t rows_for_threads = 8192;

/// Enough of a hash to tell it from another one.
std::string shortened(const std::string& hash) { return hash.substr(0, 16); }

}  // namespace

struct JournalFile::Store {
  explicit Store(Database opened) : database(std::move(opened)) {}

  // What the statement is bound to.
  long long number = 0;
  std::string line;
  std::string hash;

  std::optional<LockFile> lock;  ///< Held longer than the database is open.
  std::optional<HeadFile> head;
  Chain chain;
  Database database;
  std::optional<soci::statement> insert;
  long long base_row = 0;  ///< The row before the first one that is kept.
  std::string base_hash;

  void add_row(soci::session& session) {
    if (!insert) {
      insert.emplace((session.prepare << "INSERT INTO events (number, line, hash) "
                                         "VALUES (:number, :line, :hash)",
                      soci::use(number), soci::use(line), soci::use(hash)));
    }
    insert->execute(true);
  }
};

JournalFile::JournalFile(std::unique_ptr<Store> store, std::string path)
    : store_(std::move(store)), path_(std::move(path)) {}
JournalFile::~JournalFile() = default;

Result<std::unique_ptr<JournalFile>> JournalFile::open(const std::string& path, Access access) {
  std::optional<LockFile> lock;
  if (access == Access::write) lock = TRY(LockFile::acquire(path + ".lock"));
  const std::optional<HeadFile::Head> noted = HeadFile::read(path + ".head");
  Database database = TRY(Database::open(
      path, access == Access::write ? Database::Access::write : Database::Access::read));
  auto store = std::make_unique<Store>(std::move(database));
  store->lock = std::move(lock);
  std::unique_ptr<JournalFile> out(new JournalFile(std::move(store), path));
  TRY(out->check_tables());
  TRY(out->find_end());
  if (noted) TRY(out->check_end(noted->row, noted->hash));
  if (access == Access::write) {
    out->store_->head = TRY(HeadFile::open(path + ".head"));
    if (out->rows_ > 0) out->store_->head->note({.row = out->rows_, .hash = out->last_hash_});
  }
  return out;
}

Error JournalFile::damaged(std::uint64_t row, const std::string& what) const {
  return {.code = Code::invalid,
          .what = what,
          .where = path_ + ": row " + std::to_string(row),
          .hint = "restore a backup, and check the disk; the rows before it are sound"};
}

Error JournalFile::compacted(std::uint64_t row) const {
  return {.code = Code::not_found,
          .what = "it was dropped; row " + std::to_string(store_->base_row + 1) +
                  " is the oldest one kept",
          .where = path_ + ": row " + std::to_string(row),
          .hint = "start from a checkpoint of that row or a later one"};
}

Result<void> JournalFile::create() {
  store_->base_hash = chain_origin();
  return store_->database.write([&](soci::session& session) -> Result<void> {
    session << "CREATE TABLE tutti_journal (format INTEGER NOT NULL, base_row BIGINT NOT NULL, "
               "base_hash TEXT NOT NULL)";
    session << "CREATE TABLE events (number INTEGER PRIMARY KEY, line TEXT NOT NULL, "
               "hash TEXT NOT NULL)";
    const int current = format;
    session << "INSERT INTO tutti_journal (format, base_row, base_hash) VALUES (:f, 0, :h)",
        soci::use(current), soci::use(store_->base_hash);
    return {};
  });
}

Result<void> JournalFile::check_format() {
  return store_->database.read([&](soci::session& session) -> Result<void> {
    int found = 0;
    session << "SELECT format, base_row, base_hash FROM tutti_journal", soci::into(found),
        soci::into(store_->base_row), soci::into(store_->base_hash);
    if (found > format) {
      return fail({.code = Code::unsupported,
                   .what = "format " + std::to_string(found) + " is newer than " +
                           std::to_string(format) + ", the newest one known here",
                   .where = path_,
                   .hint = "use the version of Tutti that wrote it, or a newer one"});
    }
    if (found < 1 || store_->base_row < 0 || !is_chain_hash(store_->base_hash)) {
      return fail({.code = Code::invalid,
                   .what = "the description of the journal is damaged",
                   .where = path_,
                   .hint = "restore a backup, and check the disk"});
    }
    return {};
  });
}

Result<void> JournalFile::check_tables() {
  const bool writes = store_->lock.has_value();
  const std::vector<std::string> tables = TRY(store_->database.tables());
  if (tables.empty() && writes) {
    TRY(store_->database.make_durable());
    return create();
  }
  if (std::ranges::find(tables, "tutti_journal") == tables.end()) {
    return fail({.code = Code::invalid,
                 .what = "a database, but not a journal of Tutti",
                 .where = path_,
                 .hint = "name another file"});
  }
  TRY(check_format());
  return writes ? store_->database.make_durable() : Result<void>{};
}

Result<void> JournalFile::find_end() {
  Store& store = *store_;
  rows_ = static_cast<std::uint64_t>(store.base_row);
  last_hash_ = store.base_hash;
  TRY(store.database.read([&](soci::session& session) -> Result<void> {
    soci::indicator found = soci::i_null;
    long long last = 0;
    session << "SELECT max(number) FROM events", soci::into(last, found);
    if (found == soci::i_ok) rows_ = static_cast<std::uint64_t>(last);
    return {};
  }));
  if (rows_ == static_cast<std::uint64_t>(store.base_row)) return {};
  last_hash_ =
      TRY(scan(rows_, rows_, [](std::uint64_t, const std::string&) -> Result<void> { return {}; }));
  return {};
}

Result<void> JournalFile::check_end(std::uint64_t noted, const std::string& noted_hash) const {
  if (noted <= static_cast<std::uint64_t>(store_->base_row)) return {};
  const std::string hint =
      "restore a newer backup; or, if losing those rows is meant, remove " + path_ + ".head";
  if (noted > rows_) {
    return fail({.code = Code::invalid,
                 .what = "rows " + std::to_string(rows_ + 1) + " to " + std::to_string(noted) +
                         " were acknowledged and are gone",
                 .where = path_,
                 .hint = hint});
  }
  const auto number = static_cast<long long>(noted);
  std::string hash;
  TRY(store_->database.read([&](soci::session& session) -> Result<void> {
    session << "SELECT hash FROM events WHERE number = :n", soci::use(number), soci::into(hash);
    return {};
  }));
  if (hash == noted_hash) return {};
  return fail({.code = Code::invalid,
               .what = "another row was acknowledged: its hash is " + shortened(hash) + ", and " +
                       shortened(noted_hash) + " was noted",
               .where = path_ + ": row " + std::to_string(noted),
               .hint = hint});
}

Result<void> JournalFile::append(std::span<const Event> events, Instant at) {
  if (!store_->lock) {
    return fail(
        {.code = Code::conflict, .what = "it was opened to read", .where = path_, .hint = {}});
  }
  if (events.empty()) return {};
  Store& store = *store_;
  std::uint64_t row = rows_;
  std::string hash = last_hash_;
  TRY(store.database.write([&](soci::session& session) -> Result<void> {
    for (const Event& event : events) {
      store.number = static_cast<long long>(++row);
      store.line = encode(event, at);
      hash = store.hash = store.chain.hash(hash, row, store.line);
      store.add_row(session);
    }
    return {};
  }));
  rows_ = row;
  last_hash_ = std::move(hash);
  store.head->note({.row = rows_, .hash = last_hash_});
  return {};
}

Result<std::string> JournalFile::scan(std::uint64_t first, std::uint64_t last,
                                      const VisitLine& visit) const {
  Store& store = *store_;
  if (first <= static_cast<std::uint64_t>(store.base_row)) return fail(compacted(first));
  std::uint64_t row = first - 1;  // The newest one whose hash is in `before`.
  std::string before = store.base_hash;
  bool linked = row == static_cast<std::uint64_t>(store.base_row);
  const Result<void> done = store.database.read([&](soci::session& session) -> Result<void> {
    const auto from = static_cast<long long>(row);
    long long number = 0;
    std::string line;
    std::string hash;
    soci::indicator has_line = soci::i_null;
    soci::indicator has_hash = soci::i_null;
    soci::statement select =
        (session.prepare << "SELECT number, line, hash FROM events WHERE number >= :from "
                            "ORDER BY number",
         soci::use(from), soci::into(number), soci::into(line, has_line),
         soci::into(hash, has_hash));
    select.execute();
    while (row < last && select.fetch()) {
      if (has_line != soci::i_ok) line.clear();
      if (has_hash != soci::i_ok) hash.clear();
      const auto found = static_cast<std::uint64_t>(number);
      if (!linked && found == row) {
        linked = true;  // The row before the first one, for its hash.
        before = hash;
        continue;
      }
      if (!linked || found != row + 1) break;
      const std::string right = store.chain.hash(before, found, line);
      if (right != hash) {
        return fail(damaged(found, "it is damaged: its hash is \"" + shortened(hash) +
                                       "\", and its line makes \"" + shortened(right) + '"'));
      }
      TRY(visit(found, line));
      row = found;
      std::swap(before, hash);
    }
    if (row < last) return fail(damaged(linked ? row + 1 : row, "it is missing"));
    return {};
  });
  if (done) return before;
  Error error = done.error();
  // What SQLite could not read stands behind the last row that it could.
  if (error.where == path_) error.where += ": row " + std::to_string(row + 1);
  return fail(std::move(error));
}

Result<void> JournalFile::replay(std::uint64_t first, std::uint64_t last, const Visit& visit) {
  CHECK(first > 0 && last <= rows_, first, last, rows_);
  if (first > last) return {};
  if (last - first >= rows_for_threads) {
    return RowDecoder::run(
        path_,
        [&](const RowDecoder::VisitLine& visit_line) -> Result<void> {
          TRY(scan(first, last, visit_line));
          return {};
        },
        visit);
  }
  TRY(scan(first, last, [&](std::uint64_t row, const std::string& line) -> Result<void> {
    auto decoded = decode_event(line);
    if (!decoded) {
      return fail(std::move(decoded).error().at(path_ + ": row " + std::to_string(row)));
    }
    return visit(row, decoded->first, decoded->second);
  }));
  return {};
}

std::uint64_t JournalFile::first_row() const {
  return static_cast<std::uint64_t>(store_->base_row) + 1;
}

Result<std::string> JournalFile::hash_at(std::uint64_t row) const {
  CHECK(row <= rows_, row, rows_);
  if (row + 1 == first_row()) return store_->base_hash;
  if (row < first_row()) return fail(compacted(row));
  const auto number = static_cast<long long>(row);
  std::string hash;
  soci::indicator found = soci::i_null;
  TRY(store_->database.read([&](soci::session& session) -> Result<void> {
    session << "SELECT hash FROM events WHERE number = :n", soci::use(number),
        soci::into(hash, found);
    return {};
  }));
  if (found != soci::i_ok) return fail(damaged(row, "it is missing"));
  return hash;
}

Result<std::uint64_t> JournalFile::drop(std::uint64_t last, std::uint64_t most, Instant before) {
  Store& store = *store_;
  CHECK(store.lock && last <= rows_, last, rows_);
  const std::uint64_t first = first_row();
  last = std::min(last, first + most - 1);
  if (last < first) return 0;
  // Times only grow, so the newest of them decides for all.
  Instant newest;
  TRY(replay(last, last, [&](std::uint64_t, const Event&, Instant at) -> Result<void> {
    newest = at;
    return {};
  }));
  if (newest >= before) return 0;
  const std::string hash = TRY(hash_at(last));
  const auto to = static_cast<long long>(last);
  TRY(store.database.write([&](soci::session& session) -> Result<void> {
    session << "DELETE FROM events WHERE number <= :to", soci::use(to);
    session << "UPDATE tutti_journal SET base_row = :row, base_hash = :hash", soci::use(to),
        soci::use(hash);
    return {};
  }));
  store.base_row = to;
  store.base_hash = hash;
  return last - first + 1;
}

Result<std::vector<JournalFile::Decider>> JournalFile::deciders() const {
  std::vector<Decider> out;
  const std::vector<std::string> tables = TRY(store_->database.tables());
  if (std::ranges::find(tables, "deciders") == tables.end()) return out;
  TRY(store_->database.read([&](soci::session& session) -> Result<void> {
    long long first = 0;
    Decider each;
    soci::statement select =
        (session.prepare << "SELECT first_row, version, policy, policy_text FROM deciders "
                            "ORDER BY first_row",
         soci::into(first), soci::into(each.version), soci::into(each.policy),
         soci::into(each.policy_text));
    select.execute();
    while (select.fetch()) {
      each.first = static_cast<std::uint64_t>(first);
      out.push_back(each);
    }
    return {};
  }));
  return out;
}

Result<void> JournalFile::note_decider(Decider decider) {
  CHECK(store_->lock.has_value());
  const std::vector<Decider> known = TRY(deciders());
  decider.first = known.empty() ? 0 : known.back().first;
  if (!known.empty() && known.back() == decider) return {};
  const auto first = static_cast<long long>(rows_ + 1);
  return store_->database.write([&](soci::session& session) -> Result<void> {
    session << "CREATE TABLE IF NOT EXISTS deciders (first_row INTEGER PRIMARY KEY, "
               "version TEXT NOT NULL, policy TEXT NOT NULL, policy_text TEXT NOT NULL)";
    // One who decided nothing leaves no trace.
    session << "INSERT OR REPLACE INTO deciders (first_row, version, policy, policy_text) "
               "VALUES (:first, :version, :policy, :text)",
        soci::use(first), soci::use(decider.version), soci::use(decider.policy),
        soci::use(decider.policy_text);
    return {};
  });
}

Result<void> JournalFile::backup_to(const std::string& path) const {
  Database source = TRY(Database::open(path_, Database::Access::read));
  return source.copy_to(path);
}

}  // namespace tutti
