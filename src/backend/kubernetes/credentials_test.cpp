#include "backend/kubernetes/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "backend/kubernetes/plugin_process.h"
#include "backend/local/test_tasks.h"

namespace tutti::credentials_test {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// A machine of files, a plugin that is played, and two clocks.
class CredentialsTest : public testing::Test {
 protected:
  Credentials make(KubeUser user) {
    user.where = "config:9:3";
    ClusterAccess access{.server = net::Url::parse("https://api.example:6443").value(),
                         .user = std::move(user)};
    access.authority.text = "CA";
    return {access,
            {.read_file = [this](const std::string& path) -> Result<std::string> {
               ++reads_;
               const auto file = files_.find(path);
               if (file != files_.end()) return file->second;
               return fail({.code = Code::not_found, .what = "gone", .where = path});
             },
             .run =
                 [this](const PluginOrder& order, PluginDone done) {
                   order_ = order;
                   plugin_done_ = std::move(done);
                   ++runs_;
                   return std::make_unique<Underway>();
                 },
             .time_of_day = [this] { return time_of_day_; }}};
  }
  /// What a renewal brings; plugins have to be played first.
  std::string renewed(Credentials& credentials) {
    std::string out = "under way";
    credentials.renew(now_, [&](Result<void> got) {
      const Credential& has = credentials.credential();
      out = got ? has.authorization + "|" + has.certificate + "|" + has.key : got.error().text();
    });
    if (plugin_done_) {
      auto done = std::exchange(plugin_done_, nullptr);
      done(played_);
    }
    return out;
  }
  void pass(Duration time) {
    now_ = now_ + time;
    time_of_day_ = time_of_day_ + time;
  }
  static KubeUser with_plugin() {
    KubeUser user{.name = "cloud"};
    user.plugin = CredentialPlugin{.api_version = "client.authentication.k8s.io/v1",
                                   .command = "login",
                                   .arguments = {"--now"},
                                   .environment = {{"REGION", "eu"}},
                                   .install_hint = "get it",
                                   .wants_cluster = true};
    return user;
  }
  static PluginEnd answer(const std::string& status) {
    return {.output = R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
                      R"("status":{)" +
                      status + "}}"};
  }

  std::map<std::string, std::string> files_;
  int reads_ = 0;
  int runs_ = 0;
  Instant now_{5'000'000};
  Instant time_of_day_{1'700'000'000'000'000};  // 2023-11-14T22:13:20Z
  PluginOrder order_;
  PluginDone plugin_done_;
  Result<PluginEnd> played_ = PluginEnd{};
};

TEST_F(CredentialsTest, WhatAKubeconfigHoldsIsShownForEver) {
  Credentials token = make({.token = {.text = "abc"}});
  EXPECT_FALSE(token.fresh(now_));
  EXPECT_EQ(renewed(token), "Bearer abc||");
  pass(Duration::seconds(100'000));
  EXPECT_TRUE(token.fresh(now_));
  Credentials login = make({.username = "me", .password = "pa:ss"});
  EXPECT_EQ(renewed(login), "Basic bWU6cGE6c3M=||");
  Credentials certificate = make({.certificate = {.text = "C"}, .key = {.text = "K"}});
  EXPECT_EQ(renewed(certificate), "|C|K");
  Credentials nobody = make({});
  EXPECT_EQ(renewed(nobody), "||");
}

TEST_F(CredentialsTest, ATokenFileIsReadOnceAMinuteAndAfterARefusal) {
  Credentials credentials = make({.token = {.file = "/sa/token"}});
  EXPECT_THAT(renewed(credentials), HasSubstr("error: /sa/token: gone"));
  files_["/sa/token"] = "one\n";
  EXPECT_EQ(renewed(credentials), "Bearer one||");
  pass(Duration::seconds(59));
  EXPECT_TRUE(credentials.fresh(now_));
  files_["/sa/token"] = "two\n";
  pass(Duration::seconds(1));
  EXPECT_FALSE(credentials.fresh(now_));
  EXPECT_EQ(renewed(credentials), "Bearer two||");
  credentials.refuse(now_);
  EXPECT_FALSE(credentials.fresh(now_));
  // What was read last goes on while nothing can be read.
  files_.clear();
  EXPECT_EQ(renewed(credentials), "Bearer two||");
  EXPECT_TRUE(credentials.fresh(now_));
  files_["/sa/token"] = "";
  credentials.refuse(now_);
  EXPECT_EQ(renewed(credentials), "Bearer two||");
}

TEST_F(CredentialsTest, ATokenFileGoesBeforeTheTokenBesideIt) {
  Credentials credentials = make({.token = {.text = "old", .file = "/token"}});
  EXPECT_EQ(renewed(credentials), "Bearer old||");
  files_["/token"] = "new";
  credentials.refuse(now_);
  EXPECT_EQ(renewed(credentials), "Bearer new||");
}

TEST_F(CredentialsTest, ATokenThatWouldBreakTheHeaderIsNotSent) {
  files_["/token"] = "5318008\r\nX-Evil: 1";
  Credentials credentials = make({.token = {.file = "/token"}});
  EXPECT_THAT(renewed(credentials),
              AllOf(HasSubstr("/token: what it holds is no token"), Not(HasSubstr("5318008"))));
}

TEST_F(CredentialsTest, CertificatesInFilesAreReadAgain) {
  files_ = {{"/c", "C1"}, {"/k", "K1"}};
  Credentials credentials = make({.certificate = {.file = "/c"}, .key = {.file = "/k"}});
  EXPECT_EQ(renewed(credentials), "|C1|K1");
  files_ = {{"/c", "C2"}, {"/k", "K2"}};
  pass(Duration::seconds(60));
  EXPECT_FALSE(credentials.fresh(now_));
  EXPECT_EQ(renewed(credentials), "|C2|K2");
}

TEST_F(CredentialsTest, APluginRunsWhenWhatItGaveHasExpiredOrWasRefused) {
  Credentials credentials = make(with_plugin());
  played_ = answer(R"("token":"t1","expirationTimestamp":"2023-11-14T22:14:20Z")");
  EXPECT_EQ(renewed(credentials), "Bearer t1||");
  EXPECT_EQ(order_.command, "login");
  EXPECT_EQ(order_.time_max, Credentials::plugin_time_max);
  EXPECT_THAT(
      order_.environment,
      testing::ElementsAre(
          "REGION=eu",
          R"(KUBERNETES_EXEC_INFO={"apiVersion":"client.authentication.k8s.io/v1",)"
          R"("kind":"ExecCredential","spec":{"interactive":false,"cluster":)"
          R"({"server":"https://api.example:6443","certificate-authority-data":"Q0E="}}})"));
  pass(Duration::seconds(59));
  EXPECT_TRUE(credentials.fresh(now_));
  pass(Duration::seconds(1));
  EXPECT_FALSE(credentials.fresh(now_));
  played_ = answer(R"("clientCertificateData":"C","clientKeyData":"K")");
  EXPECT_EQ(renewed(credentials), "|C|K");
  credentials.refuse(now_);
  EXPECT_TRUE(credentials.fresh(now_)) << "it was asked just now";
  pass(Credentials::plugin_pause);
  credentials.refuse(now_);
  EXPECT_FALSE(credentials.fresh(now_));
}

TEST_F(CredentialsTest, WhatHasExpiredAlreadyIsNotAskedForWithoutEnd) {
  Credentials credentials = make(with_plugin());
  played_ = answer(R"("token":"t","expirationTimestamp":"2020-01-01T00:00:00Z")");
  EXPECT_EQ(renewed(credentials), "Bearer t||");
  EXPECT_TRUE(credentials.fresh(now_));
  pass(Credentials::plugin_pause);
  EXPECT_FALSE(credentials.fresh(now_));
}

TEST_F(CredentialsTest, APluginThatFailsSaysWhyAndIsLeftAloneForAWhile) {
  Credentials credentials = make(with_plugin());
  played_ = PluginEnd{.status = 3, .output = "5318008", .errors = "log in first\n"};
  const std::string said = renewed(credentials);
  EXPECT_THAT(said, AllOf(HasSubstr("config:9:3: the plugin login ended with 3: log in first"),
                          Not(HasSubstr("5318008"))));
  EXPECT_EQ(renewed(credentials), said);
  EXPECT_EQ(runs_, 1);
  pass(Credentials::plugin_pause);
  played_ = PluginEnd{.timed_out = true};
  EXPECT_THAT(renewed(credentials), HasSubstr("took more than 60 s"));
  pass(Credentials::plugin_pause);
  played_ = fail(Code::io, "No such file or directory");
  EXPECT_THAT(renewed(credentials), AllOf(HasSubstr("No such file"), HasSubstr("hint:  get it")));
}

TEST_F(CredentialsTest, WhatAPluginPrintsMustBeWhatItShouldAndIsNotShown) {
  const std::string good = "client.authentication.k8s.io/v1";
  const auto refused = [&](const std::string& text) {
    const auto got = parse_plugin_answer(text, good);
    return got ? "accepted" : got.error().text();
  };
  const std::string head = R"({"kind":"ExecCredential","apiVersion":")" + good + "\"";
  EXPECT_EQ(refused(head + R"(,"status":{"token":"5318008"}})"), "accepted");
  for (const std::string& bad :
       {std::string("token 5318008"), std::string("{\"kind\":\"5318008"), head + "}",
        head + R"(,"status":{"token":5318008}})", head + R"(,"status":"5318008"})",
        head + R"(,"status":{"clientCertificateData":"5318008"}})",
        head + R"(,"status":{"token":"5318008","expirationTimestamp":"soon"}})",
        std::string(R"({"kind":"List"})"),
        std::string(R"({"kind":"ExecCredential","apiVersion":"v9"})")}) {
    EXPECT_THAT(refused(bad), AllOf(StartsWith("error: "), Not(HasSubstr("5318008")))) << bad;
  }
}

// --- Real processes -----------------------------------------------------------------------------

class PluginProcessTest : public testing::Test {
 protected:
  std::string ran(const std::string& script, Duration time_max = Duration::seconds(20)) {
    std::string out;
    const Ticket ticket = run_plugin_process(loop_,
                                             {.command = "sh",
                                              .arguments = {"-c", script},
                                              .environment = {"WHO=me"},
                                              .time_max = time_max},
                                             [&](const Result<PluginEnd>& got) {
                                               out = !got ? got.error().text()
                                                          : std::to_string(got->status) +
                                                                (got->timed_out ? " late " : " ") +
                                                                got->output + "|" + got->errors;
                                               loop_.stop();
                                             });
    loop_.run();
    return out;
  }

  net::EventLoop loop_;
};

TEST_F(PluginProcessTest, TellsWhatItPrintedAndHowItEnded) {
  EXPECT_EQ(ran("echo hello $WHO; echo oh >&2; exit 7"), "7 hello me\n|oh\n");
  EXPECT_EQ(ran("kill -KILL $$"), "137 |");
  EXPECT_EQ(ran("cat; test -z \"$(ls /proc/self/fd | grep -v '[0123]')\" && echo closed"),
            "0 closed\n|")
      << "no input, and none of our descriptors";
  // More than a pipe holds, and more than is kept.
  const std::string much = ran("head -c 2000000 /dev/zero | tr '\\0' x");
  EXPECT_EQ(much.size(), (std::size_t{1} << 20U) + 3);
}

TEST_F(PluginProcessTest, EndsWithItsTimeAndTakesItsChildrenAlong) {
  EXPECT_EQ(ran("echo half; sleep 60", Duration::milliseconds(1500)), "137 late half\n|");
  // A child that keeps the streams open holds nobody up.
  EXPECT_EQ(ran("sleep 60 & echo done"), "0 done\n|");
  const auto before = net::EventLoop::now();
  {
    const Ticket dropped = run_plugin_process(loop_,
                                              {.command = "sleep",
                                               .arguments = {"60"},
                                               .environment = {},
                                               .time_max = Duration::seconds(60)},
                                              nullptr);
  }
  EXPECT_LT((net::EventLoop::now() - before).in_seconds(), 20);
}

TEST_F(PluginProcessTest, WhatDoesNotExistIsAnError) {
  std::string out;
  const Ticket ticket = run_plugin_process(loop_,
                                           {.command = "no-such-plugin",
                                            .arguments = {},
                                            .environment = {},
                                            .time_max = Duration::seconds(5)},
                                           [&](const Result<PluginEnd>& got) {
                                             out = got ? "ran" : got.error().text();
                                             loop_.stop();
                                           });
  loop_.run();
  EXPECT_THAT(out, AllOf(HasSubstr("no-such-plugin"), HasSubstr("No such file")));
  EXPECT_EQ(read_mounted_file("/no/such/file").error().code, Code::not_found);
  const test::TempFolder folder;
  std::ofstream(folder / "data") << "token";
  std::filesystem::create_symlink("data", folder / "link");
  EXPECT_EQ(read_mounted_file(folder / "link").value(), "token");
}

}  // namespace tutti::credentials_test
