#include "api/audit_log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "api/query.h"

namespace tutti {
namespace {

constexpr std::string_view prefix = "audit-";
constexpr std::string_view suffix = ".log";
/// Read at a time: far more than the longest line.
constexpr std::uint64_t piece_bytes = 64 << 10U;
constexpr std::size_t kept_most = 1000;

std::unexpected<Error> cannot(std::string_view verb, const std::string& path) {
  return fail(net::system_error(verb, path, errno));
}

/// The position in "audit-00000000000016777216.log".
std::optional<std::uint64_t> begin_of(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  if (name.size() < suffix.size()) return std::nullopt;
  name.remove_suffix(suffix.size());
  return natural(name);
}

}  // namespace

std::string AuditLog::path_of(const File& file) const {
  return fmt::format("{}/{}{:020}{}", folder_, prefix, file.begin, suffix);
}

Result<AuditLog> AuditLog::open(std::string folder, Limits limits) {
  AuditLog log(std::move(folder), limits);
  TRY(log.look_around());
  TRY(log.open_newest());
  return log;
}

Result<void> AuditLog::look_around() {
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    const auto begin = begin_of(at->path().filename().string());
    if (!begin) continue;
    const std::uint64_t size = at->file_size(error);
    if (!error) aside_.push_back({*begin, size});
  }
  if (error) return fail(Error{Code::io, "cannot be read: " + error.message(), folder_, {}});
  std::ranges::sort(aside_, {}, &File::begin);
  if (!aside_.empty()) begin_ = aside_.back().begin + aside_.back().size;
  return {};
}

Result<void> AuditLog::open_newest() {
  file_ = net::Descriptor(
      ::open(newest().c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file_.valid() || ::fchmod(file_.get(), 0600) != 0) return cannot("write", newest());
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) return cannot("read", newest());
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (size_ == 0) return {};
  char last = 0;
  if (::pread(file_.get(), &last, 1, status.st_size - 1) != 1) return cannot("read", newest());
  // What a power cut left of a line ends here.
  return last == '\n' ? Result<void>() : write("\n");
}

Result<void> AuditLog::put_aside() {
  if (size_ < limits_.file_bytes) return {};
  const File full{begin_, size_};
  if (::rename(newest().c_str(), path_of(full).c_str()) != 0) return cannot("rename", newest());
  aside_.push_back(full);
  begin_ += size_;
  size_ = 0;
  TRY(open_newest());
  while (aside_.size() + 1 > limits_.files) {
    ::unlink(path_of(aside_.front()).c_str());
    aside_.pop_front();
  }
  return {};
}

Result<void> AuditLog::write(std::string_view text) {
  if (!file_.valid()) TRY(open_newest());
  const ssize_t written = ::write(file_.get(), text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) {
    size_ += text.size();
    return {};
  }
  if (written >= 0) errno = ENOSPC;
  const auto failed = cannot("write", newest());
  // A line stands there whole or not at all.
  if (written > 0) {
    [[maybe_unused]] const int cut = ::ftruncate(file_.get(), static_cast<off_t>(size_));
  }
  return failed;
}

Result<void> AuditLog::write_kept() {
  TRY(put_aside());
  for (; !kept_.empty(); kept_.pop_front()) TRY(write(kept_.front()));
  if (dropped_ > 0) {
    TRY(write(fmt::format("{{\"left_out\":{}}}\n", dropped_)));
    dropped_ = 0;
  }
  return {};
}

Result<void> AuditLog::add(std::string_view line) {
  if (kept_.size() < kept_most) {
    kept_.emplace_back(line).push_back('\n');
  } else {
    ++dropped_;
  }
  return write_kept();
}

Result<std::string> AuditLog::bytes(const File& file, std::uint64_t from, std::uint64_t to) const {
  const std::string path = file.begin == begin_ ? newest() : path_of(file);
  const net::Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  std::string out(to - from, '\0');
  const ssize_t got = descriptor.valid() ? ::pread(descriptor.get(), out.data(), out.size(),
                                                   static_cast<off_t>(from - file.begin))
                                         : -1;
  if (got == static_cast<ssize_t>(out.size())) return out;
  return cannot("read", path);
}

Result<AuditLog::Page> AuditLog::read(std::uint64_t before, std::size_t most) const {
  Page page;
  before = std::min(before, end());
  std::vector<File> files(aside_.begin(), aside_.end());
  files.push_back({begin_, size_});
  for (std::size_t at = files.size(); at-- > 0 && page.lines.size() < most;) {
    const File& file = files[at];
    while (before > file.begin && page.lines.size() < most) {
      const std::uint64_t from = std::max(file.begin, before - std::min(before, piece_bytes));
      const std::uint64_t end = before;
      const std::string piece = TRY(bytes(file, from, end));
      if (!piece.ends_with('\n')) {
        return fail(Code::invalid, "the cursor is none that this server gave");
      }
      std::string_view rest = piece;
      while (!rest.empty() && page.lines.size() < most) {
        rest.remove_suffix(1);
        const std::size_t start = rest.rfind('\n') + 1;  // 0 where there is none.
        if (start == 0 && from > file.begin) break;      // Its begin is in the piece before.
        page.lines.emplace_back(rest.substr(start));
        before = from + start;
        rest = rest.substr(0, start);
      }
      if (before == end) before = from;  // A line that is none of ours: longer than any.
    }
  }
  if (before > files.front().begin) page.next = before;
  return page;
}

}  // namespace tutti
