/// Sitting at a task, as a client does it: through a real server.
#include "api/attach_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "api/attach_frame.h"
#include "api/test_routes.h"

namespace tutti::attach_routes_test {

using testing::HasSubstr;

/// What a test says that the task did, and what it heard.
struct Played {
  std::vector<std::string> shown;  ///< Still to be shown.
  bool over = false;
  std::string heard;
  std::size_t room = SIZE_MAX;  ///< For what is typed.
};

class PlayedTerminal final : public TerminalPort {
 public:
  explicit PlayedTerminal(Played& played) : played_(played), bell_(::eventfd(1, EFD_NONBLOCK)) {}
  PlayedTerminal(const PlayedTerminal&) = delete;
  PlayedTerminal& operator=(const PlayedTerminal&) = delete;
  ~PlayedTerminal() override { ::close(bell_); }

  int fd() const override { return bell_; }  // Always ready.
  std::optional<std::string> output() override {
    if (played_.shown.empty()) return played_.over ? std::nullopt : std::optional(std::string());
    std::string next = played_.shown.front();
    played_.shown.erase(played_.shown.begin());
    return next;
  }
  std::size_t input(std::string_view bytes) override {
    const std::size_t taken = std::min(bytes.size(), played_.room);
    played_.heard += bytes.substr(0, taken);
    return taken;
  }
  void end_input() override { played_.heard += "<end>"; }
  void resize(std::uint16_t rows, std::uint16_t columns) override {
    played_.heard += "<" + std::to_string(rows) + "x" + std::to_string(columns) + ">";
  }
  void signal(int number) override { played_.heard += "<" + std::to_string(number) + ">"; }

 private:
  Played& played_;
  int bell_;
};

class AttachRoutesTest : public test::RoutesTest {
 protected:
  static constexpr const char* target = "/api/v1/jobs/1/tasks/0:attach";

  void sit_down() {
    call_ = http_.upgrade({.url = tcp_.with_target(target)}, attach_protocol,
                          [this](Result<net::Duplex> got) {
                            ASSERT_TRUE(got.has_value()) << got.error().text();
                            duplex_ = *std::move(got);
                            duplex_.start(
                                [this](std::string_view bytes) {
                                  const auto take = [this](char kind, std::string_view content) {
                                    got_ += kind + std::string(content) + "|";
                                  };
                                  EXPECT_TRUE(reader_.add(bytes, take).has_value());
                                },
                                [this](const Result<void>&) { got_ += "gone"; });
                          });
    EXPECT_TRUE(until([this] { return duplex_.open(); }));
  }
  /// Runs the loop until it is so.
  bool until(const std::function<bool()>& is_so) {
    for (int turn = 0; turn < 1000 && !is_so(); ++turn) {
      const net::Timer soon = loop_.after(Duration::milliseconds(5), [this] { loop_.stop(); });
      loop_.run();
    }
    return is_so();
  }
  void report(const Event& event) {
    bool done = false;
    thread_->send({event}, [&](const EngineThread::Answers&) { done = true; });
    EXPECT_TRUE(until([&] { return done; }));
  }
  JobState state() const { return jobs_.find(JobId(1))->state; }

  const TaskId task_{JobId(1), 0};
  Played played_;
  net::HttpClient http_{loop_};
  net::Call call_;
  net::Duplex duplex_;
  FrameReader reader_;
  std::string got_;
};

TEST_F(AttachRoutesTest, OnlyItsOwnerSitsAtAJobThatSomebodySitsAt) {
  ASSERT_EQ(submit(R"(, "attended": "terminal")").status, 201);
  ASSERT_EQ(submit().status, 201);
  EXPECT_EQ(ask("GET", target).status, 426) << "it must ask to change the protocol";
  EXPECT_EQ(ask("GET", "/api/v1/jobs/1/tasks/1:attach").status, 404);
  EXPECT_EQ(ask("GET", "/api/v1/jobs/9/tasks/0:attach").status, 404);
  EXPECT_EQ(ask("GET", "/api/v1/jobs/2/tasks/0:attach").status, 409);
  EXPECT_EQ(ask("POST", target).status, 405);
  as("bob");
  EXPECT_EQ(ask("GET", target).status, 403);
  as("root", Role::admin);
  EXPECT_EQ(ask("GET", target).status, 426);
  EXPECT_NE(state(), JobState::cancelled);
}

TEST_F(AttachRoutesTest, WhatIsTypedArrivesAndTheEndHasItsCode) {
  ASSERT_EQ(submit(R"(, "attended": "pipes")").status, 201);
  sit_down();
  duplex_.write(frame('i', "typed ahead,") + frame('w', "10 20") + frame('w', "odd"));
  terminal_ = std::make_unique<PlayedTerminal>(played_);
  played_.shown = {"hello"};
  played_.room = 5;  // Of each piece.
  report(TaskStarted{task_, 1});
  EXPECT_TRUE(until([&] { return got_ == "b|ohello|"; })) << got_;
  duplex_.write(frame('i', " more") + frame('s', "2") + frame('s', "900") + frame('e', ""));
  EXPECT_TRUE(until([&] { return played_.heard.ends_with("<end>"); })) << played_.heard;
  EXPECT_THAT(played_.heard, HasSubstr("<10x20>"));
  EXPECT_THAT(played_.heard, HasSubstr("<2>"));
  EXPECT_THAT(played_.heard, testing::Not(HasSubstr("<900>")));
  played_.shown = {std::string(200'000, 'x')};
  played_.over = true;
  report(TaskExited{task_, 1, 7, ExitCause::exited});
  EXPECT_TRUE(until([&] { return got_.ends_with("gone"); }));
  EXPECT_GT(got_.size(), 200'000U);
  EXPECT_THAT(got_, HasSubstr(R"("exit_code":7)"));
  EXPECT_EQ(state(), JobState::failed);
}

TEST_F(AttachRoutesTest, WhoGoesCancelsItAlsoBeforeItBegins) {
  ASSERT_EQ(submit(R"(, "attended": "pipes")").status, 201);
  sit_down();
  duplex_ = {};
  EXPECT_TRUE(until([&] { return jobs_.find(JobId(1))->cancelled; }));
}

TEST_F(AttachRoutesTest, ASignalBeforeItBeginsCancelsIt) {
  ASSERT_EQ(submit(R"(, "attended": "pipes")").status, 201);
  sit_down();
  duplex_.write(frame('s', "2"));
  EXPECT_TRUE(until([&] { return jobs_.find(JobId(1))->cancelled; }));
}

TEST_F(AttachRoutesTest, AServerThatEndsCancelsNothing) {
  ASSERT_EQ(submit(R"(, "attended": "pipes")").status, 201);
  sit_down();
  routes_->stop();
  EXPECT_TRUE(until([&] { return got_ == "gone"; })) << got_;
  EXPECT_FALSE(jobs_.find(JobId(1))->cancelled);
}

// The job goes on: nobody has left it.
TEST_F(AttachRoutesTest, WhoseTokenIsTakenBackIsLetGo) {
  ASSERT_EQ(submit(R"(, "attended": "pipes")").status, 201);
  user_.token = tokens_.make({.role = Role::user, .created = Instant{1}})->token.id;
  sit_down();
  ASSERT_TRUE(tokens_.revoke(user_.token).has_value());
  EXPECT_TRUE(until([&] { return got_.ends_with("gone"); })) << got_;
  EXPECT_THAT(got_, HasSubstr("the token is not good any more"));
  EXPECT_FALSE(jobs_.find(JobId(1))->cancelled);
}

TEST(AttachFrameTest, PiecesOfAnySizeAreTheSameFrames) {
  const std::string all = frame('i', "hello") + frame('e', "") + frame('o', std::string(700, 'x'));
  for (const std::size_t size : {1U, 2U, 3U, 7U, 4096U}) {
    FrameReader reader;
    std::string got;
    for (std::size_t at = 0; at < all.size(); at += size) {
      const auto good = reader.add(all.substr(at, size), [&](char kind, std::string_view bytes) {
        got += kind + std::to_string(bytes.size()) + " ";
      });
      EXPECT_TRUE(good.has_value());
    }
    EXPECT_EQ(got, "i5 e0 o700 ") << size;
  }
}

TEST_F(AttachRoutesTest, NonsenseIsAnsweredAndEnds) {
  ASSERT_EQ(submit(R"(, "attended": "pipes")").status, 201);
  sit_down();
  duplex_.write("i\xff\xff\xff\xff");
  EXPECT_TRUE(until([&] { return got_.ends_with("gone"); }));
  EXPECT_THAT(got_, HasSubstr("a frame of 4294967295 bytes"));
}

}  // namespace tutti::attach_routes_test
