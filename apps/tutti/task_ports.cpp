#include "tutti/task_ports.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backend/local/output_reader.h"

namespace tutti {
namespace {

/// Reads a file that tasks of this user write, if it is his.
Result<JobRoutes::ReadOutput> open_file_of(const std::string& path, const std::string& user) {
  const std::optional<uid_t> uid = uid_of(user);
  if (!uid) return fail(Code::not_found, "this machine has no user \"" + user + "\"");
  auto reader = std::make_shared<OutputReader>(path, ::geteuid() == 0 ? *uid : ::geteuid());
  // Whether it may be read is known after the first piece.
  auto first = std::make_shared<std::string>(TRY(reader->next()));
  return [reader, first]() -> Result<std::string> {
    if (!first->empty()) return std::exchange(*first, {});
    return reader->next();
  };
}

/// The terminal of a task, for whoever sits at it.
class ViewPort final : public TerminalPort {
 public:
  explicit ViewPort(TerminalView view) : view_(std::move(view)) {}
  int fd() const override { return view_.fd(); }
  std::optional<std::string> output() override { return view_.output(); }
  std::size_t input(std::string_view bytes) override { return view_.input(bytes); }
  void end_input() override { view_.end_input(); }
  void resize(std::uint16_t rows, std::uint16_t columns) override {
    view_.resize({.rows = rows, .columns = columns});
  }
  void signal(int number) override { view_.signal(number); }

 private:
  TerminalView view_;
};

}  // namespace

void lend_tasks(LocalTasks& tasks, AllRoutes::Ports& to) {
  to.jobs.open_output = [&tasks](const TaskId& task, std::uint32_t attempt) {
    auto reader = std::make_shared<OutputReader>(tasks.folder_of({task, attempt}) + "/" +
                                                 TaskFolder::output_name);
    return [reader] { return reader->next(); };
  };
  to.jobs.open_file = open_file_of;
  to.open_terminal = [&tasks](const TaskId& task,
                              std::uint32_t attempt) -> Result<std::unique_ptr<TerminalPort>> {
    return std::make_unique<ViewPort>(TRY(tasks.view({task, attempt})));
  };
}

}  // namespace tutti
