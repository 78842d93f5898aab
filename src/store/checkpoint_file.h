/// A checkpoint in a file: what stands for all rows of a journal up to one of them.
///
/// The bytes of model/checkpoint.h, then SHA-256 of each of their MiB, then a description in lines
/// of text, which says for which row of which journal it stands: `tail -c 512 FILE` shows it. A
/// file has its name only when it is complete and durable.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/follower.h"

namespace tutti {

/// What a checkpoint stands for.
struct CheckpointNote {
  JournalRow row = 0;
  std::string hash;              ///< Of everything up to that row, as the journal's chain has it.
  std::uint64_t state_hash = 0;  ///< State::hash().
  Instant at;                    ///< The State's time.
  friend bool operator==(const CheckpointNote&, const CheckpointNote&) = default;
};

class CheckpointFile {
 public:
  /// The newest arrangement of such files that this version knows, and the one that it writes.
  static constexpr int format = 1;

  /// Reads and checks all of it; memory is the system's, which takes it back when it needs it.
  static Result<CheckpointFile> open(const std::string& path);
  CheckpointFile(CheckpointFile&&) noexcept = default;
  CheckpointFile& operator=(CheckpointFile&&) noexcept = default;

  const CheckpointNote& note() const { return note_; }
  std::string_view bytes() const { return bytes_; }

  using Sink = std::function<void(std::string_view)>;
  /// Writes what `body` hands over, beside `path`. It has its name once it was confirmed.
  class Draft;

 private:
  class Unmap {
   public:
    explicit Unmap(std::size_t size) : size_(size) {}
    void operator()(const char* begin) const;

   private:
    std::size_t size_;
  };
  CheckpointFile(const char* begin, std::size_t size) : map_(begin, Unmap(size)) {}

  std::unique_ptr<const char, Unmap> map_;
  std::string_view bytes_;
  CheckpointNote note_;
};

/// A checkpoint that is being written.
class CheckpointFile::Draft {
 public:
  static Result<Draft> begin(const std::string& path);
  ~Draft();
  Draft(Draft&&) noexcept;
  Draft& operator=(Draft&&) noexcept;

  /// The next piece. What fails is said at the end.
  void add(std::string_view piece);
  /// Writes the description; all of it is durable then, and not yet there.
  Result<void> complete(const CheckpointNote& note);
  /// Where it can be read meanwhile.
  const std::string& draft_path() const;
  /// Gives it its name.
  Result<void> publish();

 private:
  struct Output;
  explicit Draft(std::unique_ptr<Output> output);
  std::unique_ptr<Output> output_;
};

/// The checkpoints of one journal, in a folder of their own.
class CheckpointFolder {
 public:
  struct Found {
    JournalRow row = 0;
    std::string path;
  };

  explicit CheckpointFolder(std::string path) : path_(std::move(path)) {}

  /// The newest first; none where there is no such folder.
  std::vector<Found> list() const;
  std::string path_of(JournalRow row) const;
  std::string lock_path() const { return path_ + "/lock"; }
  /// Makes the folder where there is none.
  Result<void> make() const;
  /// Removes all but the newest two, and what was never finished.
  /// REQUIRES: nobody writes one.
  void prune() const;

 private:
  std::string path_;
};

}  // namespace tutti
