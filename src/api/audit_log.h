/// Who changed what, or tried to: a line of JSON for each, in files that others cannot read.
///
/// `audit.log` is the newest; when it is large it is put aside under the position of its first
/// byte, and the oldest of these is removed. Positions count all bytes that were ever written, so
/// they stay what they are. A line is in the file before the request is answered: it survives the
/// server, though not a power cut; what was done itself stands in the journal. Belongs to the
/// readers' thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/descriptor.h"

namespace tutti {

class AuditLog {
 public:
  struct Limits {
    std::uint64_t file_bytes = 16U << 20U;
    std::size_t files = 16;  ///< The newest included.
  };

  /// In this folder.
  static Result<AuditLog> open(std::string folder, Limits limits);
  static Result<AuditLog> open(std::string folder) { return open(std::move(folder), Limits()); }

  /// REQUIRES: one line, without its end. Where it cannot be written it is kept, to be written
  /// with the next one.
  Result<void> add(std::string_view line);
  /// Nothing is kept back any more, or cannot be written even now.
  Result<void> write_kept();

  struct Page {
    std::vector<std::string> lines;     ///< The newest first.
    std::optional<std::uint64_t> next;  ///< What `before` is of the next page, if there is one.
  };
  /// At most so many lines (at least one) that stand before this position. O(lines).
  Result<Page> read(std::uint64_t before, std::size_t most) const;
  std::uint64_t end() const { return begin_ + size_; }

 private:
  /// One that was put aside.
  struct File {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
  };

  AuditLog(std::string folder, Limits limits) : folder_(std::move(folder)), limits_(limits) {}
  Result<void> look_around();
  Result<void> open_newest();
  Result<void> put_aside();
  Result<void> write(std::string_view text);
  Result<std::string> bytes(const File& file, std::uint64_t from, std::uint64_t to) const;
  std::string newest() const { return folder_ + "/audit.log"; }
  std::string path_of(const File& file) const;

  std::string folder_;
  Limits limits_;
  std::deque<File> aside_;  ///< The oldest first.
  net::Descriptor file_;    ///< The newest ...
  std::uint64_t begin_ = 0;
  std::uint64_t size_ = 0;
  std::deque<std::string> kept_;  ///< Not written yet.
  std::uint64_t dropped_ = 0;     ///< More than that could be kept.
};

}  // namespace tutti
