#include "sim/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dialect/tutti.h"
#include "format/text.h"
#include "model/catalog.h"
#include "policy/policy_file.h"

namespace tutti {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 20;
constexpr std::size_t head_size = std::size_t{1} << 16;
constexpr std::size_t neighbours_max = 10'000;

std::unexpected<Error> system_error(const std::string& path, std::string_view doing) {
  return fail({.code = Code::io,
               .what = "cannot " + std::string(doing) + ": " + std::strerror(errno),
               .where = path,
               .hint = {}});
}

/// A file of the same folder with nearly this name, as a hint.
std::string near_file(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path wanted(path);
  std::error_code ignored;
  const fs::path folder = wanted.has_parent_path() ? wanted.parent_path() : fs::path(".");
  std::vector<std::string> names;
  for (auto at = fs::directory_iterator(folder, ignored); !ignored && at != fs::end(at);
       at.increment(ignored)) {
    if (names.size() < neighbours_max) names.push_back(at->path().filename().string());
  }
  std::ranges::sort(names);
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto near = closest(wanted.filename().string(), views);
  if (!near) return {};
  const fs::path whole = wanted.has_parent_path() ? wanted.parent_path() / *near : fs::path(*near);
  return "did you mean " + quote(whole.string()) + "?";
}

/// Closes on every path out of a function.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

std::string stem(const std::string& path) { return std::filesystem::path(path).stem().string(); }

std::string_view first_line(std::string_view text) {
  return text.substr(0, std::min(text.find('\n'), text.size()));
}

/// Without a byte order mark, blanks and comments.
std::string_view trimmed(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with('#')) return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

bool has_line(std::string_view text, std::string_view start) {
  if (text.starts_with(start)) return true;
  return text.find("\n" + std::string(start)) != text.npos;
}

template <class T>
Result<T> located(Result<T> result, const std::string& path) {
  if (result) return result;
  return fail(std::move(result).error().at(path));
}

Result<Descriptor> open_file(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    const bool missing = errno == ENOENT;
    std::unexpected<Error> error = system_error(path, "read");
    if (missing) error.error().hint = near_file(path);
    return error;
  }
  struct stat about{};
  if (::fstat(file.get(), &about) != 0) return system_error(path, "read");
  if (S_ISDIR(about.st_mode)) {
    errno = EISDIR;
    return system_error(path, "read");
  }
  return file;
}

/// 0 at the end.
Result<std::size_t> read_some(const Descriptor& file, const std::string& path,
                              std::span<char> room) {
  for (;;) {
    const ssize_t count = ::read(file.get(), room.data(), room.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) return system_error(path, "read");
  }
}

Result<void> read_up_to(const Descriptor& file, const std::string& path, std::size_t most,
                        std::string& text) {
  while (text.size() < most) {
    const std::size_t size = text.size();
    text.resize(size + std::min(chunk, most - size));
    const Result<std::size_t> count = read_some(file, path, std::span(text).subspan(size));
    text.resize(size + count.value_or(0));
    if (!count) return fail(count.error());
    if (*count == 0) break;
  }
  return {};
}

/// Where bytes go first. A device or a pipe must not be replaced by a file; a folder is left for
/// open to refuse.
struct Target {
  std::string path;
  bool renamed = true;
};

Target target_of(const std::string& path) {
  struct stat about{};
  const bool in_place = ::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
  return in_place ? Target{path, false} : Target{path + ".part", true};
}

/// A file whose start has been read, to know what it is.
struct Opened {
  std::string path;
  Descriptor file;
  std::string head;
  FileFormat format = FileFormat::tutti;

  Result<std::string> all() {
    std::string text = std::move(head);
    TRY(read_up_to(file, path, text.max_size(), text));
    return text;
  }
  /// REQUIRES: lives longer than the source.
  Source source() {
    return [this, at = std::size_t{0}](std::span<char> room) mutable -> Result<std::size_t> {
      const std::size_t count = std::min(room.size(), head.size() - at);
      if (count == 0) return read_some(file, path, room);
      std::memcpy(room.data(), head.data() + at, count);
      at += count;
      return count;
    };
  }
};

Result<Opened> open_known(const std::string& path) {
  Opened opened{.path = path, .file = TRY(open_file(path)), .head = {}};
  TRY(read_up_to(opened.file, path, head_size, opened.head));
  if (trimmed(opened.head).empty() && opened.head.size() < head_size) {
    return fail({.code = Code::invalid, .what = "the file is empty", .where = path, .hint = {}});
  }
  opened.format = format_of(opened.head);
  return opened;
}

std::unexpected<Error> wrong_format(const Opened& opened, std::string_view wanted) {
  Error error{.code = Code::invalid, .what = {}, .where = opened.path, .hint = {}};
  switch (opened.format) {
    case FileFormat::openb_nodes:
      error.what = "this is an openb node list, not a " + std::string(wanted);
      error.hint = "give it as --fleet";
      break;
    case FileFormat::openb_pods:
      error.what = "this is an openb pod list, not a " + std::string(wanted);
      error.hint = "give it as --workload";
      break;
    case FileFormat::kubernetes_yaml:
      error.code = Code::unsupported;
      error.what = "this is a Kubernetes object as YAML; dumps are read as JSON";
      error.hint = "kubectl get nodes,pods -A -o json > cluster.json";
      break;
    default:
      error.what = "this is no " + std::string(wanted) + " that can be read";
      error.where += ":1:1";
      error.hint = "known: Tutti's YAML, openb CSV, and kubectl get nodes,pods -A -o json";
  }
  return fail(std::move(error));
}

Result<Snapshot> snapshot_of(Opened& opened, const Catalog& catalog, Skipped& skipped) {
  Result<Snapshot> snapshot = read_snapshot(opened.source(), stem(opened.path), &catalog, skipped);
  if (!snapshot && snapshot.error().code == Code::io) return snapshot;
  return located(std::move(snapshot), opened.path);
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const Descriptor file = TRY(open_file(path));
  std::string text;
  TRY(read_up_to(file, path, text.max_size(), text));
  return text;
}

Result<void> check_writable(const std::string& path) {
  const Target target = target_of(path);
  const Descriptor file(::open(target.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (file.get() < 0) return system_error(path, "write");
  if (target.renamed) ::unlink(target.path.c_str());
  return {};
}

Result<void> write_file(const std::string& path, std::string_view text) {
  const Target target = target_of(path);
  Descriptor file(::open(target.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) return system_error(path, "write");
  const auto give_up = [&] {
    const auto error = system_error(path, "write");
    if (target.renamed) ::unlink(target.path.c_str());
    return error;
  };
  while (!text.empty()) {
    const ssize_t count = ::write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return give_up();
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::close(file.release()) != 0) return give_up();
  if (target.renamed && ::rename(target.path.c_str(), path.c_str()) != 0) return give_up();
  return {};
}

FileFormat format_of(std::string_view head) {
  const std::string_view text = trimmed(head);
  if (text.empty()) return FileFormat::tutti;
  const std::string_view line = first_line(text);
  if (line.starts_with("sn,")) return FileFormat::openb_nodes;
  if (line.starts_with("name,cpu_milli,")) return FileFormat::openb_pods;
  if (text.front() == '{' || text.front() == '[') {
    const bool objects =
        text.find("\"apiVersion\"") != text.npos || text.find("\"items\"") != text.npos;
    return objects ? FileFormat::kubernetes : FileFormat::tutti;
  }
  if (has_line(text, "apiVersion:")) return FileFormat::kubernetes_yaml;
  const bool table = line.find(',') != line.npos && line.find(':') == line.npos;
  return table ? FileFormat::other_table : FileFormat::tutti;
}

Result<FileFormat> find_format(const std::string& path) { return TRY(open_known(path)).format; }

Result<FleetFile> load_fleet(const std::string& path, Skipped& skipped) {
  Opened opened = TRY(open_known(path));
  const Catalog catalog = TRY(Catalog::builtin());
  switch (opened.format) {
    case FileFormat::openb_nodes:
      return located(read_openb_nodes(TRY(opened.all()), stem(path), skipped), path);
    case FileFormat::kubernetes:
      return TRY(snapshot_of(opened, catalog, skipped)).fleet;
    case FileFormat::tutti:
      return located(parse_fleet(TRY(opened.all()), stem(path), &catalog), path);
    default:
      return wrong_format(opened, "fleet");
  }
}

Result<Workload> load_workload(const std::string& path, Skipped& skipped) {
  Opened opened = TRY(open_known(path));
  const Catalog catalog = TRY(Catalog::builtin());
  switch (opened.format) {
    case FileFormat::openb_pods:
      return located(read_openb_pods(TRY(opened.all()), stem(path), skipped), path);
    case FileFormat::kubernetes:
      return TRY(snapshot_of(opened, catalog, skipped)).workload;
    case FileFormat::tutti:
      return located(parse_workload(TRY(opened.all()), stem(path), &catalog), path);
    default:
      return wrong_format(opened, "workload");
  }
}

Result<Snapshot> load_snapshot(const std::string& path, Skipped& skipped) {
  Opened opened = TRY(open_known(path));
  const Catalog catalog = TRY(Catalog::builtin());
  if (opened.format != FileFormat::kubernetes) return wrong_format(opened, "Kubernetes dump");
  return snapshot_of(opened, catalog, skipped);
}

namespace {

/// Refuses what a policy file may say, but the simulator does not do yet.
Result<void> in_effect(const PolicyRecipe& recipe) {
  if (recipe.alternatives != AlternativeChoice::in_order) {
    return fail(Code::unsupported, "\"alternatives: by_score\" has no effect yet",
                "leave it out: alternatives are then tried in order");
  }
  return {};
}

}  // namespace

Result<PolicyRecipe> load_policy(const std::string& name_or_path) {
  Result<PolicyRecipe> builtin = builtin_policy(name_or_path);
  if (builtin) return builtin;
  std::error_code ignored;
  const bool path = name_or_path.find_first_of("/.") != name_or_path.npos ||
                    std::filesystem::exists(name_or_path, ignored);
  if (!path) {
    builtin.error().hint += (builtin.error().hint.empty() ? "" : "; ");
    builtin.error().hint += "a policy file is named by its path, such as my_policy.yaml";
    return builtin;
  }
  const std::string text = TRY(read_file(name_or_path));
  PolicyRecipe recipe = TRY(located(parse_policy(text), name_or_path));
  recipe.name = stem(name_or_path);
  TRY(located(in_effect(recipe), name_or_path));
  return recipe;
}

}  // namespace tutti
