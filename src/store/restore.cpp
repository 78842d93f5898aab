#include "store/restore.h"

#include <utility>

namespace tutti {
namespace {

/// Applies rows `first` to `last`.
Result<void> go_on(JournalFile& journal, JournalRow first, JournalRow last, State& state,
                   Follower* follower) {
  return journal.replay(
      first, last, [&](std::uint64_t row, const Event& event, Instant at) -> Result<void> {
        if (at < state.now()) {
          return fail({.code = Code::invalid,
                       .what = "its time is " + std::to_string(at.us) + " us, before the " +
                               std::to_string(state.now().us) + " us of the row before it",
                       .where = journal.path() + ": row " + std::to_string(row),
                       .hint = {}});
        }
        // The engine journals what it is told, judges it then, and a replay judges it again.
        if (!state.admissible(event)) return {};
        state.apply(event, at);
        if (follower != nullptr) follower->happened(row, event, state);
        return {};
      });
}

/// Does the journal have the row that the checkpoint stands for, and can it go on from there?
Result<void> check_row(const JournalFile& journal, const CheckpointNote& note) {
  if (note.row + 1 < journal.first_row()) {
    return fail(Code::conflict, "rows behind its row " + std::to_string(note.row) +
                                    " were dropped; the first one kept is " +
                                    std::to_string(journal.first_row()));
  }
  if (TRY(journal.hash_at(note.row)) == note.hash) return {};
  return fail(Code::conflict, "it is of another journal: the hash of row " +
                                  std::to_string(note.row) + " is another one");
}

Result<State> read_checkpoint(const JournalFile& journal, const std::string& path,
                              Companion& companion) {
  const CheckpointFile file = TRY(CheckpointFile::open(path));
  if (auto right = check_row(journal, file.note()); !right) {
    return fail(std::move(right).error().at(path));
  }
  State state;
  const auto read = [&]() -> Result<void> {
    CheckpointReader reader(file.bytes());
    TRY(reader.read(state));
    TRY(companion.read(reader, file.note().row));
    return reader.finish();
  };
  if (auto done = read(); !done) return fail(std::move(done).error().at(path));
  if (state.now() != file.note().at)
    return fail(Error{Code::invalid, "its time is another", path, {}});
  return state;
}

}  // namespace

Result<State> restore(JournalFile& journal, Follower* follower) {
  State state;
  TRY(go_on(journal, 1, journal.rows(), state, follower));
  return state;
}

Result<Restored> restore(JournalFile& journal, const CheckpointFolder& checkpoints,
                         Companion& companion, JournalRow last) {
  Restored out;
  for (const CheckpointFolder::Found& each : checkpoints.list()) {
    if (each.row > last) continue;
    auto state = read_checkpoint(journal, each.path, companion);
    if (state) {
      out.state = *std::move(state);
      out.from = each.row;
      break;
    }
    out.remarks.push_back(state.error().where + ": " + state.error().what);
  }
  if (out.from == 0) {
    companion.clear();
    if (journal.first_row() > 1) {
      std::string why = "rows 1 to " + std::to_string(journal.first_row() - 1) +
                        " were dropped, and no checkpoint stands for them";
      for (const std::string& remark : out.remarks) why += "\n  " + remark;
      return fail({.code = Code::invalid,
                   .what = std::move(why),
                   .where = journal.path(),
                   .hint = "put the folder of its checkpoints back, or restore a backup"});
    }
  }
  TRY(go_on(journal, out.from + 1, last, out.state, &companion));
  out.row = last;
  return out;
}

}  // namespace tutti
