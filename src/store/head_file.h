/// The newest row of a journal, noted beside it: how a journal that lost its end is told from one
/// that never had it.
///
/// SQLite takes the first damaged part of its write-ahead log for the end of it, as it must after a
/// power cut, and a copy of yesterday's file is valid in itself. So each row that was made durable
/// is noted here afterwards, in place and without waiting for the disk: what the note says was
/// durable before, so a journal without that row has lost it. The note of a killed process is
/// exact; after a power cut it may be older than the journal, or unreadable, and then says less,
/// never something wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/lock_file.h"

namespace tutti {

class HeadFile {
 public:
  struct Head {
    std::uint64_t row = 0;
    std::string hash;  ///< Of that row, as the chain has it.
  };

  /// What the file says, or nothing where it is absent or cannot be understood. To be asked before
  /// the journal is read: its writer may be at work.
  static std::optional<Head> read(const std::string& path);

  /// To write; made when absent. The descriptor is kept, so that a note is one system call.
  static Result<HeadFile> open(const std::string& path);
  /// A note that cannot be written is left out: it protects, and nothing depends on it.
  void note(const Head& head) const;

 private:
  explicit HeadFile(net::Descriptor file) : file_(std::move(file)) {}

  net::Descriptor file_;
};

}  // namespace tutti
