/// tutti backup: one file from which a server can be restored, made while it runs.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/lock_file.h"
#include "tutti/archive.h"
#include "tutti/checkpoint.h"
#include "tutti/commands.h"
#include "tutti/data_folder.h"
#include "tutti/shown.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;

constexpr int waits_most = 6000;  ///< Ten minutes ...
constexpr useconds_t wait_us = 100'000;

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
