#include "backend/local/task_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include "format/json.h"
#include "format/reader.h"

namespace tutti {
namespace {

/// More than an exit record ever takes.
constexpr off_t record_bytes = 4096;

Result<TaskFolder::Launch> decode_launch(Reader& r) {
  TaskFolder::Launch launch;
  launch.boot = TRY(r.required_text("boot"));
  launch.mark = TRY(r.required_text("mark"));
  launch.order = TRY(r.required_object("order", decode_launch_order));
  return launch;
}

}  // namespace

Result<TaskFolder> TaskFolder::make(const OpenFolder& tasks, const AttemptId& id) {
  return TaskFolder(TRY(tasks.make(to_string(id), 0700)));
}

Result<TaskFolder> TaskFolder::open(const OpenFolder& tasks, const AttemptId& id) {
  return TaskFolder(TRY(tasks.open_inner(to_string(id))));
}

Result<TaskFolder> TaskFolder::open(const std::string& path) {
  return TaskFolder(TRY(OpenFolder::open(path)));
}

Result<void> TaskFolder::write_launch(const Launch& launch) const {
  std::string text;
  JsonWriter json(text);
  json.begin_object().member("boot", launch.boot).member("mark", launch.mark);
  json.key("order").raw(encode(launch.order)).end_object();
  // What a power cut leaves of it does not matter: the machine's next start ends every attempt.
  return files_.replace("launch.json", text, OpenFolder::Sync::no);
}

Result<TaskFolder::Launch> TaskFolder::read_launch() const {
  const Value document = TRY(parse_json(TRY(files_.read("launch.json"))));
  return decode(document, "launch", decode_launch);
}

Result<void> TaskFolder::lock() {
  if (!lock_.valid()) lock_ = TRY(files_.open_file("lock", O_RDWR | O_CREAT));
  if (lock_file(lock_)) return {};
  if (errno != EAGAIN) return fail(system_error(files_.path_of("lock"), "lock it", errno));
  return fail({.code = Code::conflict,
               .what = "in use by process " + std::to_string(lock_holder(lock_)),
               .where = path()});
}

Result<pid_t> TaskFolder::holder() const {
  if (!lock_.valid()) {
    if (!files_.has("lock")) return 0;
    lock_ = TRY(files_.open_file("lock", O_RDWR));
  }
  return lock_holder(lock_);
}

Result<void> TaskFolder::write_identity(const TaskIdentity& identity) const {
  const Descriptor room = TRY(files_.open_file("exit.json.new", O_WRONLY | O_CREAT));
  if (const int error = ::posix_fallocate(room.get(), 0, record_bytes); error != 0) {
    return fail(system_error(path(), "keep room for the exit record", error));
  }
  TRY(files_.replace("identity.json", encode(identity), OpenFolder::Sync::yes));
  const Descriptor above(::openat(files_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!above.valid() || ::fsync(above.get()) != 0) {
    return fail(system_error(path(), "sync the folder above", errno));
  }
  return {};
}

Result<TaskIdentity> TaskFolder::read_identity() const {
  return decode_task_identity(TRY(files_.read("identity.json")));
}

Result<void> TaskFolder::write_end(const TaskEnd& end) const {
  return files_.replace("exit.json", encode(end), OpenFolder::Sync::yes);
}

Result<TaskEnd> TaskFolder::read_end() const {
  return decode_task_end(TRY(files_.read("exit.json")));
}

}  // namespace tutti
