#include "sim/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dialect/tutti.h"
#include "format/quantity.h"
#include "format/text.h"
#include "policy/policy_file.h"
#include "sim/snapshot.h"

namespace tutti {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 20;
constexpr std::size_t head_size = std::size_t{1} << 16;
constexpr std::size_t neighbours_max = 10'000;
const std::string standard_input = "-";
/// Of a text that is held as a whole; dumps of Kubernetes are not.
constexpr std::size_t text_bytes_max = std::size_t{512} << 20;

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
  const std::string name = wanted.filename().string();
  auto near = closest(name, views);
  const auto whole_name = std::ranges::find(names, name + ".yaml");
  if (whole_name != names.end()) near = *whole_name;
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

std::string stem(const std::string& path) {
  return path == standard_input ? "stdin" : std::filesystem::path(path).stem().string();
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, std::min(text.find('\n'), text.size()));
}

/// Without a byte order mark, blanks and comments.
std::string_view without_preamble(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with('#')) return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

/// Whether `key` stands there as a key, with this behind its colon.
bool has_key(std::string_view text, std::string_view key, std::string_view value) {
  for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    std::size_t next = text.find_first_not_of(" \t\r\n", at + key.size());
    if (next == text.npos || text[next] != ':') continue;
    next = text.find_first_not_of(" \t\r\n", next + 1);
    if (next == text.npos || text.substr(next).starts_with(value)) return true;
  }
  return false;
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

/// The same for a description that speaks of others, and for what it says of them.
template <class T>
Result<T> with_places(Result<T> described, const std::string& path) {
  if (!described) return located(std::move(described), path);
  for (Mention& mention : described->mentions) mention.where = path + ":" + mention.where;
  return described;
}

/// What is skipped while this lives stands in the file at `path`.
class SkippedIn {
 public:
  SkippedIn(Skipped& skipped, const std::string& path)
      : skipped_(skipped), path_(path), before_(skipped.errors.size()) {}
  SkippedIn(const SkippedIn&) = delete;
  SkippedIn& operator=(const SkippedIn&) = delete;
  ~SkippedIn() {
    for (Error& error : std::span(skipped_.errors).subspan(before_)) {
      error = std::move(error).at(path_);
    }
  }

 private:
  Skipped& skipped_;
  const std::string& path_;
  std::size_t before_;
};

/// Standard input as a file that can be read again: what a pipe brings is kept on the disk, and
/// takes its place.
Result<Descriptor> open_standard_input() {
  struct stat about{};
  if (::fstat(STDIN_FILENO, &about) != 0) return system_error(standard_input, "read");
  if (!S_ISREG(about.st_mode)) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> kept(std::tmpfile(), &std::fclose);
    if (kept == nullptr) return system_error(standard_input, "keep");
    std::vector<char> room(chunk);
    for (;;) {
      const ssize_t count = ::read(STDIN_FILENO, room.data(), room.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return system_error(standard_input, "read");
      if (count == 0) break;
      const auto size = static_cast<std::size_t>(count);
      if (std::fwrite(room.data(), 1, size, kept.get()) != size) {
        return system_error(standard_input, "keep");
      }
    }
    if (std::fflush(kept.get()) != 0 || ::dup2(::fileno(kept.get()), STDIN_FILENO) < 0) {
      return system_error(standard_input, "keep");
    }
  }
  Descriptor file(::dup(STDIN_FILENO));
  if (file.get() < 0 || ::lseek(file.get(), 0, SEEK_SET) < 0) {
    return system_error(standard_input, "read");
  }
  return file;
}

/// Blocks for nothing but standard input: a pipe that nobody writes into is empty.
Result<Descriptor> open_file(const std::string& path, bool only_regular) {
  if (path == standard_input) return open_standard_input();
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
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
  if (only_regular && !S_ISREG(about.st_mode)) {
    return fail({.code = Code::io,
                 .what = "cannot read: not a file, and it has to be read more than once",
                 .where = path,
                 .hint = "save it to a file first"});
  }
  ::fcntl(file.get(), F_SETFL, O_RDONLY);
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

Result<std::string> read_all(const Descriptor& file, const std::string& path, std::string text) {
  TRY(read_up_to(file, path, text_bytes_max + 1, text));
  if (text.size() <= text_bytes_max) return text;
  return fail({.code = Code::limit,
               .what = "more than " + bytes_text(text_bytes_max),
               .where = path,
               .hint = "split it; only kubectl get ... -o json may be larger"});
}

/// Where bytes go first: a fresh file beside the target, which is then renamed. What is no regular
/// file, such as a pipe, must not be replaced by one; a folder is left for open to refuse.
struct Output {
  std::string target;  ///< Behind links.
  std::string path;
  Descriptor file;
  bool renamed() const { return path != target; }
};

/// A file of a name that nothing has yet, with the rights that the target has or would get.
Result<Output> open_beside(const std::string& target, const struct stat* about,
                           const std::string& path) {
  if (about != nullptr && ::access(target.c_str(), W_OK) != 0) return system_error(path, "write");
  const std::string stem = target + "." + std::to_string(::getpid());
  for (int number = 0;; ++number) {
    std::string name = stem + "-" + std::to_string(number) + ".part";
    Descriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.get() < 0 && errno == EEXIST) continue;
    if (file.get() < 0) return system_error(path, "write");
    if (about != nullptr) ::fchmod(file.get(), about->st_mode & 0777);
    return Output{target, std::move(name), std::move(file)};
  }
}

Result<Output> open_output(const std::string& path) {
  std::error_code ignored;
  const std::string target = std::filesystem::weakly_canonical(path, ignored).string();
  struct stat about{};
  const bool there = ::stat(path.c_str(), &about) == 0;
  if (!there || S_ISREG(about.st_mode)) {
    return open_beside(target.empty() ? path : target, there ? &about : nullptr, path);
  }
  // A pipe that nobody reads is an error, not a reason to wait.
  Descriptor file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return system_error(path, "write");
  ::fcntl(file.get(), F_SETFL, O_WRONLY);
  return Output{path, path, std::move(file)};
}

/// A file whose start has been read, to know what it is.
struct Opened {
  std::string path;
  Descriptor file;
  std::string head;
  FileFormat format = FileFormat::tutti;

  Result<std::string> all() { return read_all(file, path, std::move(head)); }
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
  Opened opened{.path = path, .file = TRY(open_file(path, true)), .head = {}};
  TRY(read_up_to(opened.file, path, head_size, opened.head));
  if (without_preamble(opened.head).empty() && opened.head.size() < head_size) {
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
      error.what = "this is no " + std::string(wanted) +
                   " that can be read: " + quote(first_line(without_preamble(opened.head)));
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

enum class Wanted : std::uint8_t { nodes, pods };

/// Refuses a dump without what is wanted of it: it would simulate nothing.
Result<Snapshot> complete(Snapshot snapshot, const std::string& path, Wanted wanted) {
  const bool nodes = wanted == Wanted::nodes;
  if (!(nodes ? snapshot.fleet.nodes.empty() : snapshot.workload.jobs.empty())) return snapshot;
  return fail({.code = Code::invalid,
               .what = nodes ? "the dump has no nodes" : "the dump has no pods that wait or run",
               .where = path,
               .hint = "kubectl get nodes,pods -A -o json > cluster.json"});
}

Result<Snapshot> read_dump(const std::string& path, const Catalog& catalog, Skipped& skipped,
                           std::initializer_list<Wanted> wanted) {
  Opened opened = TRY(open_known(path));
  const SkippedIn here(skipped, path);
  if (opened.format != FileFormat::kubernetes) return wrong_format(opened, "Kubernetes dump");
  Snapshot snapshot = TRY(snapshot_of(opened, catalog, skipped));
  for (const Wanted each : wanted) snapshot = TRY(complete(std::move(snapshot), path, each));
  set_aside_elsewhere(snapshot);
  return snapshot;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  return read_all(TRY(open_file(path, false)), path, {});
}

Result<void> check_writable(const std::string& path) {
  struct stat about{};
  const bool there = ::stat(path.c_str(), &about) == 0;
  // Whoever reads a pipe would take an open and a close for the end.
  if (there && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode))) return {};
  const Output output = TRY(open_output(path));
  if (output.renamed()) ::unlink(output.path.c_str());
  return {};
}

Result<void> write_file(const std::string& path, std::string_view text) {
  Output output = TRY(open_output(path));
  const auto give_up = [&] {
    const auto error = system_error(path, "write");
    if (output.renamed()) ::unlink(output.path.c_str());
    return error;
  };
  while (!text.empty()) {
    const ssize_t count = ::write(output.file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return give_up();
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::close(output.file.release()) != 0) return give_up();
  if (output.renamed() && ::rename(output.path.c_str(), output.target.c_str()) != 0) {
    return give_up();
  }
  return {};
}

bool same_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::file_status status = fs::status(a, ignored);
  if (fs::exists(status)) return fs::is_regular_file(status) && fs::equivalent(a, b, ignored);
  const fs::path whole = fs::weakly_canonical(fs::absolute(a, ignored), ignored);
  return whole == fs::weakly_canonical(fs::absolute(b, ignored), ignored);
}

FileFormat format_of(std::string_view head) {
  const std::string_view text = without_preamble(head);
  if (text.empty()) return FileFormat::tutti;
  const std::string_view line = first_line(text);
  if (line.starts_with("sn,")) return FileFormat::openb_nodes;
  if (line.starts_with("name,cpu_milli,")) return FileFormat::openb_pods;
  if (text.front() == '{' || text.front() == '[') {
    const bool objects = has_key(text, "\"apiVersion\"", "\"") || has_key(text, "\"items\"", "[");
    return objects ? FileFormat::kubernetes : FileFormat::tutti;
  }
  if (has_line(text, "apiVersion:")) return FileFormat::kubernetes_yaml;
  const bool table = line.find_first_of(",;\t") != line.npos && line.find(':') == line.npos;
  return table ? FileFormat::other_table : FileFormat::tutti;
}

Result<FileFormat> find_format(const std::string& path) { return TRY(open_known(path)).format; }

Result<Catalog> load_catalog(const std::vector<std::string>& own) {
  Catalog catalog = TRY(Catalog::builtin());
  for (const std::string& path : own) {
    const std::string text = TRY(read_file(path));
    Result<void> added = catalog.add(text, path);
    const bool other =
        has_line(text, "nodes:") || has_line(text, "jobs:") || has_line(text, "job:");
    if (!added && other && !has_line(text, "catalog:")) {
      return fail({Code::invalid, "this is no catalog, but a fleet or a workload", path,
                   "give it as --fleet or --workload; docs/catalog.md says what a catalog has"});
    }
    TRY(std::move(added));
  }
  return catalog;
}

Result<FleetFile> load_fleet(const std::string& path, const Catalog& catalog, Skipped& skipped) {
  Opened opened = TRY(open_known(path));
  const SkippedIn here(skipped, path);
  switch (opened.format) {
    case FileFormat::openb_nodes:
      return located(read_openb_nodes(TRY(opened.all()), stem(path), skipped), path);
    case FileFormat::kubernetes:
      return TRY(complete(TRY(snapshot_of(opened, catalog, skipped)), path, Wanted::nodes)).fleet;
    case FileFormat::tutti:
      return with_places(parse_fleet(TRY(opened.all()), stem(path), &catalog), path);
    default:
      return wrong_format(opened, "fleet");
  }
}

Result<Workload> load_workload(const std::string& path, const Catalog& catalog, Skipped& skipped) {
  Opened opened = TRY(open_known(path));
  const SkippedIn here(skipped, path);
  switch (opened.format) {
    case FileFormat::openb_pods:
      return located(read_openb_pods(TRY(opened.all()), stem(path), skipped), path);
    case FileFormat::kubernetes:
      return TRY(complete(TRY(snapshot_of(opened, catalog, skipped)), path, Wanted::pods)).workload;
    case FileFormat::tutti:
      return with_places(parse_workload(TRY(opened.all()), stem(path), &catalog), path);
    default:
      return wrong_format(opened, "workload");
  }
}

Result<Snapshot> load_dump(const std::string& path, const Catalog& catalog, Skipped& skipped) {
  return read_dump(path, catalog, skipped, {Wanted::nodes});
}

Result<Snapshot> load_snapshot(const std::string& path, const Catalog& catalog, Skipped& skipped) {
  return read_dump(path, catalog, skipped, {Wanted::nodes, Wanted::pods});
}

Result<PolicyRecipe> load_policy(const std::string& name_or_path) {
  Result<PolicyRecipe> builtin = builtin_policy(name_or_path);
  if (builtin) return builtin;
  std::error_code ignored;
  const bool path = name_or_path.find_first_of("/.") != name_or_path.npos ||
                    std::filesystem::exists(name_or_path, ignored);
  if (!path) {
    std::string& hint = builtin.error().hint;
    hint += hint.empty() ? "a " : hint.ends_with('?') ? " A " : "; a ";
    hint += "policy file is named by its path, such as my_policy.yaml";
    return builtin;
  }
  const std::string text = TRY(read_file(name_or_path));
  PolicyRecipe recipe = TRY(located(parse_policy(text), name_or_path));
  recipe.name = stem(name_or_path);
  if (recipe.name == present_policy) {
    return fail({.code = Code::invalid,
                 .what = "a policy is called as its file, and present is what a dump records",
                 .where = name_or_path,
                 .hint = "rename the file"});
  }
  return recipe;
}

}  // namespace tutti
