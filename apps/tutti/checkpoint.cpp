#include "tutti/checkpoint.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "store/lock_file.h"
#include "tutti/shown.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

constexpr int niceness = 10;

/// Is the draft what it should be? A checkpoint for which rows are dropped is read back first.
Result<void> check_draft(const std::string& path, const CheckpointNote& note, const Shown& shown) {
  const CheckpointFile file = TRY(CheckpointFile::open(path));
  State state;
  Shown again(shown.jobs.keeping());
  CheckpointReader reader(file.bytes());
  TRY(reader.read(state));
  TRY(again.read(reader, note.row));
  TRY(reader.finish());
  if (file.note() == note && state.hash() == note.state_hash &&
      again.jobs.size() == shown.jobs.size()) {
    return {};
  }
  return fail(Error{Code::io, "what was read back is not what was written", path, {}});
}

}  // namespace

std::vector<std::string> CheckpointOrder::arguments() const {
  return {"tutti",
          "checkpoint",
          data,
          std::to_string(keeping.ended.us),
          std::to_string(keeping.most),
          std::to_string(behind)};
}

CheckpointOrder CheckpointOrder::parse(std::span<const std::string> arguments) {
  return {.data = arguments[2],
          .keeping = {.ended = {std::atoll(arguments[3].c_str())},
                      .most = static_cast<std::size_t>(std::atoll(arguments[4].c_str()))},
          .behind = static_cast<JournalRow>(std::atoll(arguments[5].c_str()))};
}

Result<void> make_checkpoint(const CheckpointOrder& order) {
  const CheckpointFolder folder = checkpoints_of(order.data);
  TRY(folder.make());
  const LockFile lock = TRY(LockFile::acquire(folder.lock_path()));
  folder.prune();
  const auto journal = TRY(JournalFile::open(journal_of(order.data), JournalFile::Access::read));
  if (journal->rows() <= order.behind) return {};
  const JournalRow last = journal->rows() - order.behind;
  const auto known = folder.list();
  if (!known.empty() && known.front().row >= last) return {};
  Shown shown(order.keeping);
  const Restored restored = TRY(restore(*journal, folder, shown, last));
  auto draft = TRY(CheckpointFile::Draft::begin(folder.path_of(last)));
  CheckpointWriter writer(restored.state, [&](std::string_view piece) { draft.add(piece); });
  shown.write(writer);
  writer.finish();
  const CheckpointNote note{.row = last,
                            .hash = TRY(journal->hash_at(last)),
                            .state_hash = restored.state.hash(),
                            .at = restored.state.now()};
  TRY(draft.complete(note));
  TRY(check_draft(draft.draft_path(), note, shown));
  TRY(draft.publish());
  folder.prune();
  return {};
}

int run_checkpoint(int count, char** words) {
  // What the server does comes first.
  if (::nice(niceness) == -1) return 2;
  const std::vector<std::string> arguments(words, words + count);
  const Result<void> done = make_checkpoint(CheckpointOrder::parse(arguments));
  // Somebody else makes one: a former server's process, or a backup is being made.
  if (!done && done.error().code == Code::conflict) return 0;
  return done ? 0 : complain(done.error());
}

}  // namespace tutti
