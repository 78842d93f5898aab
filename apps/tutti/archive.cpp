#include "tutti/archive.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "store/lock_file.h"

namespace tutti {
namespace {

constexpr std::size_t tar_block = 512;
constexpr std::size_t copied_at_once = std::size_t{1} << 20U;

/// Octal, up to 8 GiB; then as a number of 64 bits, as GNU tar has it.
std::string size_text(std::uint64_t size) {
  if (size < std::uint64_t{1} << 33U) return fmt::format("{:011o}", size);
  std::string out(12, '\0');
  out[0] = '\x80';
  for (unsigned at = 0; at < 8; ++at) out[11 - at] = static_cast<char>(size >> 8 * at & 0xffU);
  return out;
}

std::string tar_head(const std::string& name, std::uint64_t size, char kind, unsigned mode) {
  std::string out(tar_block, '\0');
  const auto put = [&](std::size_t at, const std::string& text) {
    out.replace(at, text.size(), text);
  };
  put(0, name);
  put(100, fmt::format("{:07o}", mode));
  put(108, fmt::format("{:07o}", 0));
  put(116, fmt::format("{:07o}", 0));
  put(124, size_text(size));
  put(136, fmt::format("{:011o}", ::time(nullptr)));
  out[156] = kind;
  put(257, std::string("ustar\00000", 8));
  put(148, std::string(8, ' '));
  unsigned sum = 0;
  for (const char c : out) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return out;
}

}  // namespace

Result<Archive> Archive::create(const std::string& path) {
  net::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.valid()) return Archive(std::move(file), path);
  Error error = file_error(path, "create", errno);
  if (errno == EEXIST) error.hint = "name a file that does not exist yet";
  return fail(std::move(error));
}

Result<void> Archive::add_folder(const std::string& name) {
  return write(tar_head(name + "/", 0, '5', 0700));
}

Result<void> Archive::add_file(const std::string& name, const std::string& path) {
  const net::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid() && errno == ENOENT) return {};
  if (!file.valid()) return fail(file_error(path, "open", errno));
  struct stat about{};
  if (::fstat(file.get(), &about) != 0) return fail(file_error(path, "read", errno));
  const auto whole = static_cast<std::uint64_t>(about.st_size);
  TRY(write(tar_head(name, whole, '0', 0600)));
  std::string bytes(copied_at_once, '\0');
  for (std::uint64_t left = whole; left > 0;) {
    const ssize_t size =
        ::read(file.get(), bytes.data(), std::min<std::uint64_t>(copied_at_once, left));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return fail(file_error(path, "read", size == 0 ? EIO : errno));
    TRY(write({bytes.data(), static_cast<std::size_t>(size)}));
    left -= static_cast<std::uint64_t>(size);
  }
  return pad(whole);
}

Result<void> Archive::add_text(const std::string& name, std::string_view text) {
  TRY(write(tar_head(name, text.size(), '0', 0600)));
  TRY(write(text));
  return pad(text.size());
}

Result<void> Archive::finish() {
  TRY(write(std::string(2 * tar_block, '\0')));
  if (::fsync(file_.get()) != 0) return fail(file_error(path_, "sync", errno));
  return {};
}

Result<void> Archive::pad(std::uint64_t size) {
  return write(std::string((tar_block - size % tar_block) % tar_block, '\0'));
}

Result<void> Archive::write(std::string_view bytes) {
  if (net::write_all(file_.get(), bytes)) return {};
  return fail(file_error(path_, "write", errno));
}

}  // namespace tutti
