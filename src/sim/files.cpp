#include "sim/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace tutti {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 20;

std::unexpected<Error> system_error(const std::string& path, std::string_view doing) {
  return fail({.code = Code::io,
               .what = "cannot " + std::string(doing) + ": " + std::strerror(errno),
               .where = path});
}

/// Closes on every path out of a function.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

std::string stem(const std::string& path) { return std::filesystem::path(path).stem().string(); }

/// The first line, without a byte order mark.
std::string_view first_line(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text.substr(0, std::min(text.find('\n'), text.size()));
}

template <class T>
Result<T> located(Result<T> result, const std::string& path) {
  if (result) return result;
  return fail(std::move(result).error().at(path));
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return system_error(path, "read");
  struct stat about{};
  if (::fstat(file.get(), &about) != 0) return system_error(path, "read");
  if (S_ISDIR(about.st_mode)) {
    errno = EISDIR;
    return system_error(path, "read");
  }
  std::string text;
  std::size_t size = 0;
  for (;;) {
    text.resize(size + chunk);
    const ssize_t count = ::read(file.get(), text.data() + size, chunk);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(path, "read");
    size += static_cast<std::size_t>(count);
    if (count == 0) break;
  }
  text.resize(size);
  return text;
}

Result<void> write_file(const std::string& path, std::string_view text) {
  const std::string beside = path + ".part";
  Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) return system_error(path, "write");
  const auto give_up = [&] {
    const auto error = system_error(path, "write");
    ::unlink(beside.c_str());
    return error;
  };
  while (!text.empty()) {
    const ssize_t count = ::write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return give_up();
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::close(file.release()) != 0) return give_up();
  if (::rename(beside.c_str(), path.c_str()) != 0) return give_up();
  return {};
}

Result<FleetFile> load_fleet(const std::string& path, Skipped& skipped) {
  const std::string text = TRY(read_file(path));
  if (first_line(text).starts_with("sn,")) {
    return located(read_openb_nodes(text, stem(path), skipped), path);
  }
  return fail({.code = Code::invalid,
               .what = "this is no fleet that can be read",
               .where = path,
               .hint = "known: openb node lists (CSV that starts with sn,cpu_milli,...)"});
}

Result<Workload> load_workload(const std::string& path, Skipped& skipped) {
  const std::string text = TRY(read_file(path));
  if (first_line(text).starts_with("name,cpu_milli,")) {
    return located(read_openb_pods(text, stem(path), skipped), path);
  }
  return fail({.code = Code::invalid,
               .what = "this is no workload that can be read",
               .where = path,
               .hint = "known: openb pod lists (CSV that starts with name,cpu_milli,...)"});
}

Result<PolicyRecipe> load_policy(const std::string& name_or_path) {
  return builtin_policy(name_or_path);
}

}  // namespace tutti
