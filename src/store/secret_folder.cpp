#include "store/secret_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "base/check.h"
#include "store/lock_file.h"

namespace tutti {
namespace {

bool plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

Result<SecretFolder> SecretFolder::open(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(file_error(path, "make", errno));
  }
  const net::Descriptor folder(
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!folder.valid()) return fail(file_error(path, "open", errno));
  if (::fchmod(folder.get(), 0700) != 0) return fail(file_error(path, "close to others", errno));
  return SecretFolder(path);
}

std::string SecretFolder::path_of(std::string_view name) const {
  CHECK(!name.empty() && name.front() != '.' && std::ranges::all_of(name, plain), name);
  return path_ + "/" + std::string(name);
}

Result<void> SecretFolder::put(std::string_view name, std::string_view secret) const {
  const std::string path = path_of(name);
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());
  {
    const net::Descriptor file(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.valid()) return fail(file_error(fresh, "make", errno));
    if (!net::write_all(file.get(), secret) || ::fdatasync(file.get()) != 0) {
      const int error = errno;
      ::unlink(fresh.c_str());
      return fail(file_error(path, "write", error));
    }
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return fail(file_error(path, "make", errno));
  const net::Descriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid() && ::fsync(folder.get()) == 0) return {};
  return fail(file_error(path_, "keep", errno));
}

Result<std::string> SecretFolder::get(std::string_view name) const {
  const std::string path = path_of(name);
  const net::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) {
    Error error = file_error(path, "open", errno);
    if (errno == ENOENT) error.code = Code::not_found;
    return fail(std::move(error));
  }
  std::string secret;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t size = ::read(file.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fail(file_error(path, "read", errno));
    if (size == 0) return secret;
    secret.append(piece.data(), static_cast<std::size_t>(size));
  }
}

void SecretFolder::remove(std::string_view name) const { ::unlink(path_of(name).c_str()); }

}  // namespace tutti
