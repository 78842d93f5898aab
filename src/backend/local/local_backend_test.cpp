/// What tests/contract/ does not ask of every backend.
#include "backend/local/local_backend.h"

#include <gmock/gmock.h>

#include "backend/local/test_tasks.h"
#include "model/state.h"

namespace tutti::local_backend_test {

using test::attempt;
using test::shell;

class LocalBackendTest : public testing::Test {
 protected:
  void open() {
    Result<LocalTasks> opened = LocalTasks::open({.folder = folder_ / "tasks"});
    ASSERT_TRUE(opened.has_value());
    tasks_ = std::make_unique<LocalTasks>(*std::move(opened));
    backend_ = std::make_unique<LocalBackend>(
        *tasks_, [this](const Action&, const State&) -> Result<LaunchOrder> {
          if (script_.empty()) return fail(Code::not_found, "there is no script");
          return shell(script_);
        });
  }
  void place(const AttemptId& id, const std::string& script) {
    script_ = script;
    backend_->execute({.task = id.task, .attempt = id.attempt}, state_);
  }
  /// Hears events until there are so many.
  std::vector<Event> hear(std::size_t count) {
    std::vector<Event> out;
    EXPECT_TRUE(test::wait_for([&] {
      for (Event& event : backend_->take_events()) out.push_back(std::move(event));
      return out.size() >= count;
    }));
    return out;
  }

  test::TempFolder folder_;
  std::unique_ptr<LocalTasks> tasks_;
  std::unique_ptr<LocalBackend> backend_;
  State state_;
  std::string script_;
};

TEST_F(LocalBackendTest, AnEndHasItsCause) {
  open();
  const auto cause_of = [&](std::uint64_t job, const std::string& script) {
    place(attempt(job), script);
    // That it began is not said of one whose keeper was gone before it could say so.
    std::vector<Event> heard;
    while (heard.empty() || !std::holds_alternative<TaskExited>(heard.back())) {
      heard = hear(1);
      if (heard.empty()) return ExitCause::exited;
    }
    const auto exited = std::get<TaskExited>(heard.back());
    EXPECT_EQ(exited.task.job, JobId(job));
    return exited.cause;
  };
  EXPECT_EQ(cause_of(1, "exit 200"), ExitCause::exited);
  EXPECT_EQ(cause_of(2, "kill -ABRT $$"), ExitCause::signalled);
  EXPECT_EQ(cause_of(3, "while [ ! -e " + folder_ / "tasks/3.0.1/started" +
                            " ]; do sleep 0.01; done; kill -KILL $PPID; sleep 1000"),
            ExitCause::lost);
}

TEST_F(LocalBackendTest, WithoutAnOrderItIsRefused) {
  open();
  place(attempt(1), "");
  EXPECT_EQ(std::get<TaskRefused>(hear(1).at(0)).reason, "there is no script");
  EXPECT_TRUE(backend_->observe().empty());
}

TEST_F(LocalBackendTest, WhatIsAcknowledgedMayBeForgotten) {
  open();
  place(attempt(1), "exit 1");
  place(attempt(2), "exit 2");
  const std::vector<Event> events = hear(4);
  backend_->acknowledge(events);
  EXPECT_EQ(backend_->over().size(), 2U);
  EXPECT_EQ(backend_->observe().size(), 2U);
  backend_.reset();
  tasks_.reset();
  open();
  EXPECT_TRUE(backend_->take_events().empty());
  place(attempt(3), "exit 3");
  hear(2);
  backend_->forget(backend_->over());
  ASSERT_EQ(backend_->observe().size(), 1U) << "nobody has acknowledged that one";
  EXPECT_EQ(backend_->observe()[0].exit_code, 3);
}

}  // namespace tutti::local_backend_test
