/// The folder of one attempt, TASKS/JOB.TASK.ATTEMPT: all that outlives a server is in it, and the
/// files in it say how far the attempt has come.
///
///   launch.json    what is to run; written by the server before it starts the keeper
///   lock           held by the keeper for as long as it lives, or by a server that fences it off
///   identity.json  the first process; written by the keeper before that executes anything
///   started        it was executed
///   exit.json      how it ended; then nothing of it is left, and nothing is ever started
///   heard          a server has taken note of the end
///   output, output.1  what it wrote, unless that goes elsewhere
///
/// Whoever holds the lock, and sees neither identity.json nor exit.json, may start the task or
/// write exit.json. So one attempt is started at most once, whichever of keeper and server dies
/// when. The lock is one of fcntl(2): it goes with its process, and tells who has it.
#pragma once

#include <sys/types.h>

#include <string>

#include "backend/local/launch_order.h"
#include "backend/local/system.h"
#include "backend/local/task_records.h"

namespace tutti {

class TaskFolder {
 public:
  static constexpr const char* output_name = "output";

  /// The folder in `tasks`, made if there is none.
  static Result<TaskFolder> make(const OpenFolder& tasks, const AttemptId& id);
  static Result<TaskFolder> open(const OpenFolder& tasks, const AttemptId& id);
  static Result<TaskFolder> open(const std::string& path);

  const OpenFolder& files() const { return files_; }
  const std::string& path() const { return files_.path(); }
  /// "12.0.3"
  std::string name() const { return path().substr(path().rfind('/') + 1); }

  /// `boot` and `mark` go with the order: see TaskIdentity.
  struct Launch {
    LaunchOrder order;
    std::string boot;
    std::string mark;
  };
  Result<void> write_launch(const Launch& launch) const;
  Result<Launch> read_launch() const;
  bool has_launch() const { return files_.has("launch.json"); }

  /// Takes the lock, or fails with Code::conflict where another process has it. It is ours until
  /// this object goes. REQUIRES: no other TaskFolder of this process has this folder open.
  Result<void> lock();
  /// The process that has the lock, 0 for none.
  Result<pid_t> holder() const;

  /// Durable, together with the folder itself; and holds room for the exit record.
  Result<void> write_identity(const TaskIdentity& identity) const;
  Result<TaskIdentity> read_identity() const;
  bool has_identity() const { return files_.has("identity.json"); }

  Result<void> mark_started() const { return files_.touch("started"); }
  bool is_started() const { return files_.has("started"); }

  /// Durable. REQUIRES: we have the lock, or no keeper was ever given this folder.
  Result<void> write_end(const TaskEnd& end) const;
  Result<TaskEnd> read_end() const;
  bool has_end() const { return files_.has("exit.json"); }

  Result<void> mark_heard() const { return files_.touch("heard"); }
  bool is_heard() const { return files_.has("heard"); }

 private:
  explicit TaskFolder(OpenFolder files) : files_(std::move(files)) {}

  OpenFolder files_;
  mutable Descriptor lock_;
};

}  // namespace tutti
