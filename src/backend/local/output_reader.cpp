#include "backend/local/output_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace tutti {
namespace {

constexpr std::size_t piece_bytes = 64 << 10U;

}  // namespace

bool OutputReader::open(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return false;
  if (!S_ISREG(status.st_mode)) return false;  // Whoever owns the folder may have put a pipe there.
  if (file_.valid() && status.st_ino == inode_) return false;
  file_ = std::move(file);
  inode_ = status.st_ino;
  return true;
}

bool OutputReader::open_newest() {
  if (!std::exchange(begun_, true) && open(path_ + ".1")) return true;
  return open(path_);
}

Result<std::string> OutputReader::next() {
  std::string piece(piece_bytes, '\0');
  for (;;) {
    if (!file_.valid() && !open_newest()) return std::string();
    const ssize_t size =
        uninterrupted([&] { return ::read(file_.get(), piece.data(), piece.size()); });
    if (size < 0) return fail(system_error(path_, "read", errno));
    if (size > 0) {
      piece.resize(static_cast<std::size_t>(size));
      return piece;
    }
    if (!open_newest()) return std::string();
  }
}

}  // namespace tutti
