/// tutti backup: one file from which a server can be restored, made while it runs.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "net/descriptor.h"
#include "store/lock_file.h"
#include "tutti/checkpoint.h"
#include "tutti/commands.h"
#include "tutti/data_folder.h"
#include "tutti/shown.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t tar_block = 512;
constexpr std::size_t copied_at_once = std::size_t{1} << 20U;
constexpr int waits_most = 6000;  ///< Ten minutes ...
constexpr useconds_t wait_us = 100'000;

/// A tar archive (POSIX ustar) of files that only their owner may read: `tar` unpacks it anywhere.
class Archive {
 public:
  static Result<Archive> create(const std::string& path) {
    net::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.valid()) return Archive(std::move(file), path);
    Error error = file_error(path, "create", errno);
    if (errno == EEXIST) error.hint = "name a file that does not exist yet";
    return fail(std::move(error));
  }

  Result<void> add_folder(const std::string& name) { return write(head(name + "/", 0, '5', 0700)); }
  /// A file that is gone by now is left out.
  Result<void> add_file(const std::string& name, const std::string& path) {
    const net::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file.valid() && errno == ENOENT) return {};
    if (!file.valid()) return fail(file_error(path, "open", errno));
    struct stat about{};
    if (::fstat(file.get(), &about) != 0) return fail(file_error(path, "read", errno));
    auto left = static_cast<std::uint64_t>(about.st_size);
    TRY(write(head(name, left, '0', 0600)));
    const std::uint64_t padding = (tar_block - left % tar_block) % tar_block;
    std::string bytes(copied_at_once, '\0');
    while (left > 0) {
      const ssize_t size =
          ::read(file.get(), bytes.data(), std::min<std::uint64_t>(copied_at_once, left));
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return fail(file_error(path, "read", size == 0 ? EIO : errno));
      TRY(write({bytes.data(), static_cast<std::size_t>(size)}));
      left -= static_cast<std::uint64_t>(size);
    }
    return write(std::string(padding, '\0'));
  }
  Result<void> finish() {
    TRY(write(std::string(2 * tar_block, '\0')));
    if (::fsync(file_.get()) != 0) return fail(file_error(path_, "sync", errno));
    return {};
  }

 private:
  Archive(net::Descriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  static std::string head(const std::string& name, std::uint64_t size, char kind, unsigned mode) {
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
  /// Octal, up to 8 GiB; then as a number of 64 bits, as GNU tar has it.
  static std::string size_text(std::uint64_t size) {
    if (size < std::uint64_t{1} << 33U) return fmt::format("{:011o}", size);
    std::string out(12, '\0');
    out[0] = '\x80';
    for (unsigned at = 0; at < 8; ++at) out[11 - at] = static_cast<char>(size >> 8 * at & 0xffU);
    return out;
  }
  Result<void> write(std::string_view bytes) {
    if (net::write_all(file_.get(), bytes)) return {};
    return fail(file_error(path_, "write", errno));
  }

  net::Descriptor file_;
  std::string path_;
};

std::set<std::string> files_in(const std::string& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file(error)) names.insert(entry.path().filename().string());
  }
  return names;
}

/// Removes a file when it is not needed any more.
class Scratch {
 public:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Variables of jobs: those that are there now, but not the ones that were taken along already.
Result<void> add_environments(Archive& to, const std::string& data, std::set<std::string>& taken) {
  const std::string folder = data + "/environments";
  for (const std::string& name : files_in(folder)) {
    if (!taken.insert(name).second) continue;
    TRY(to.add_file("environments/" + name, folder + "/" + name));
  }
  return {};
}

/// Whoever makes a checkpoint is done soon.
Result<LockFile> wait_for(const std::string& path) {
  for (int left = waits_most;; --left) {
    auto lock = LockFile::acquire(path);
    if (lock || lock.error().code != Code::conflict || left == 0) return lock;
    ::usleep(wait_us);
  }
}

struct BackupOptions {
  std::string data;
  std::string file;
};

Result<void> fill(Archive& to, const std::string& data, const std::string& file) {
  TRY(to.add_folder("environments"));
  TRY(to.add_folder("checkpoints"));
  for (const std::string& name : files_in(data)) {
    const bool wanted = name == "admin.token" || name == "tokens" || name.starts_with("audit");
    if (wanted) TRY(to.add_file(name, data + "/" + name));
  }
  // Before the journal for jobs that end meanwhile, behind it for those that come.
  std::set<std::string> environments;
  TRY(add_environments(to, data, environments));
  const CheckpointFolder checkpoints = checkpoints_of(data);
  TRY(checkpoints.make());
  const LockFile quiet = TRY(wait_for(checkpoints.lock_path()));  // None comes or goes.
  const Scratch copy(file + ".journal");
  {
    const auto journal = TRY(JournalFile::open(journal_of(data), JournalFile::Access::read));
    TRY(journal->backup_to(copy.path()));
  }
  TRY(to.add_file("journal.db", copy.path()));
  for (const CheckpointFolder::Found& each : checkpoints.list()) {
    TRY(to.add_file("checkpoints/" + fs::path(each.path).filename().string(), each.path));
  }
  TRY(add_environments(to, data, environments));
  return to.finish();
}

Result<void> back_up(const BackupOptions& options) {
  const std::string data = options.data.empty() ? usual_data() : options.data;
  if (::access(journal_of(data).c_str(), R_OK) != 0) {
    Error error = file_error(journal_of(data), "read", errno);
    error.hint = "a backup is made by who runs the server, on its machine; --data names its folder";
    return fail(std::move(error));
  }
  Archive archive = TRY(Archive::create(options.file));
  if (auto done = fill(archive, data, options.file); !done) {
    ::unlink(options.file.c_str());
    return done;
  }
  return print(
      fmt::format("{}: jobs, nodes, queues, history and the variables of jobs\n"
                  "not in it: what tasks printed, and files of users\n"
                  "it holds secrets; to restore it:  tar -xf {} -C EMPTY-DATA-FOLDER\n",
                  options.file, options.file));
}

}  // namespace

void declare_backup(CLI::App& app, Run& run) {
  auto options = std::make_shared<BackupOptions>();
  CLI::App* command = app.add_subcommand(
      "backup", "Copy all that a server on this machine keeps into one file, while it runs");
  command->add_option("file", options->file, "A new file")->type_name("FILE")->required();
  command->add_option("--data", options->data, "Folder of all that the server keeps")
      ->type_name("FOLDER")
      ->take_last();
  command->footer("Example:\n  tutti backup /backup/tutti-monday.tar");
  on_call(*command, run, [options] { return back_up(*options); });
}

}  // namespace tutti
