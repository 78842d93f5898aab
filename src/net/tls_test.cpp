#include "net/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "net/http_client.h"
#include "net/test_certificates.h"
#include "net/test_net.h"

namespace tutti::net::tls_test {

using test::echo;
using test::Identity;
using test::RawClient;
using test::TestServer;
using testing::AllOf;
using testing::HasSubstr;

const std::string get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

class TlsTest : public testing::Test {
 protected:
  Identity make(const std::string& name, const std::string& hosts, const Identity& authority,
                long seconds_left = 3'600) {
    return test::make_identity(
        folder_ / "",
        {.name = name, .hosts = hosts, .seconds_left = seconds_left, .authority = &authority});
  }
  static ListenAt listen_with(const Identity& identity) {
    return {.address = "127.0.0.1:0",
            .tls = TlsFiles{.certificate = identity.certificate_file, .key = identity.key_file}};
  }
  ClientSettings trusting(const Identity& authority) {
    return {.tls = {.ca = authority.certificate_file}};
  }
  static std::string fetched(const Url& url, const ClientSettings& settings,
                             std::string body = "") {
    const auto got = fetch({.method = body.empty() ? "GET" : "POST",
                            .url = url,
                            .body = std::move(body),
                            .deadline = Duration::seconds(5)},
                           settings);
    return got ? std::to_string(got->status) + " " + got->body : got.error().text();
  }

  test::Folder folder_;
  Identity authority_ = test::make_identity(folder_ / "", {.name = "authority"});
  Identity server_ = make("server", "IP:127.0.0.1,DNS:localhost", authority_);
};

TEST_F(TlsTest, ARequestIsAnsweredByAddressAndByName) {
  const TestServer server(echo, {}, listen_with(server_));
  EXPECT_EQ(server.url.scheme, Url::Scheme::https);
  EXPECT_EQ(fetched(server.url, trusting(authority_)), "200 GET /");
  Url named = server.url;
  named.host = "localhost";
  EXPECT_EQ(fetched(named, trusting(authority_)), "200 GET /");
}

TEST_F(TlsTest, LargeBodiesPassBothWays) {
  const TestServer server(echo, {}, listen_with(server_));
  std::string body(3'000'000, 'x');
  for (std::size_t at = 0; at < body.size(); at += 991) body[at] = static_cast<char>('a' + at % 26);
  EXPECT_EQ(fetched(server.url, trusting(authority_), body), "200 POST / [" + body + "]");
}

TEST_F(TlsTest, ConnectionsAreKept) {
  TestServer server(echo, {}, listen_with(server_));
  EventLoop loop;
  HttpClient client(loop, trusting(authority_));
  for (int n = 0; n < 3; ++n) {
    const Call call = client.send({.url = server.url}, [&](Result<Response> got) {
      EXPECT_TRUE(got.has_value()) << got.error().text();
      loop.stop();
    });
    loop.run();
  }
  EXPECT_EQ(server.counts().accepted, 1);
}

TEST_F(TlsTest, CertificatesThatProveNothingAreRefused) {
  const Identity other = test::make_identity(folder_ / "", {.name = "other"});
  const auto against = [&](const Identity& identity, const Identity& trusted) {
    const TestServer server(echo, {}, listen_with(identity));
    const std::string said = fetched(server.url, trusting(trusted));
    EXPECT_THAT(said, HasSubstr(server.url.text()));
    return said;
  };
  EXPECT_THAT(against(server_, other), AllOf(HasSubstr("its certificate is not accepted"),
                                             HasSubstr("hint:  check the host's name")));
  EXPECT_THAT(against(make("expired", "IP:127.0.0.1", authority_, -60), authority_),
              HasSubstr("certificate has expired"));
  EXPECT_THAT(against(make("elsewhere", "DNS:elsewhere.example", authority_), authority_),
              HasSubstr("IP address mismatch"));
  EXPECT_THAT(against(other, authority_), HasSubstr("not accepted"));
  const TestServer server(echo, {}, listen_with(server_));
  Url named = server.url;
  named.host = "127.0.0.2";
  EXPECT_THAT(fetched(named, trusting(authority_)), HasSubstr("error:"));
  // The system's authorities do not know ours.
  EXPECT_THAT(fetched(server.url, {}), HasSubstr("not accepted"));
}

TEST_F(TlsTest, FilesThatAreNoCertificatesAreErrors) {
  const Identity other = test::make_identity(folder_ / "", {.name = "other"});
  const auto reading = [](const TlsFiles& files) {
    const auto got = read_server_tls(files);
    return got ? "fine" : got.error().text();
  };
  const std::string missing = folder_ / "none";
  EXPECT_THAT(reading({.certificate = missing, .key = server_.key_file}),
              AllOf(HasSubstr(missing), HasSubstr("No such file")));
  EXPECT_THAT(reading({.certificate = server_.certificate_file, .key = missing}),
              HasSubstr(missing));
  EXPECT_THAT(reading({.certificate = server_.key_file, .key = server_.key_file}),
              HasSubstr("cannot read the certificate"));
  EXPECT_THAT(reading({.certificate = server_.certificate_file, .key = other.key_file}),
              AllOf(HasSubstr(other.key_file), HasSubstr("cannot use this key")));
  EXPECT_THAT(
      reading(
          {.certificate = server_.certificate_file, .key = server_.key_file, .client_ca = missing}),
      HasSubstr(missing));
  EXPECT_FALSE(read_client_tls({.ca = missing}).has_value());
}

TEST_F(TlsTest, AClientMayHaveToShowACertificateOfItsOwn) {
  const Identity client = make("alice", "", authority_);
  const Identity other = test::make_identity(folder_ / "", {.name = "other"});
  std::optional<std::string> subject;
  ListenAt at = listen_with(server_);
  at.tls->client_ca = authority_.certificate_file;
  const auto note_subject = [&](const Request& request, Answer answer) {
    subject = request.peer->certificate;
    answer.send({});
  };
  ClientSettings settings = trusting(authority_);
  {
    const TestServer server(note_subject, {}, at);
    EXPECT_EQ(fetched(server.url, settings), "200 ");
    EXPECT_EQ(subject, "");
  }
  at.tls->client_required = true;
  const TestServer server(note_subject, {}, at);
  EXPECT_THAT(fetched(server.url, settings), HasSubstr("error:"));
  settings.tls.certificate = client.certificate_file;
  settings.tls.key = client.key_file;
  EXPECT_EQ(fetched(server.url, settings), "200 ");
  EXPECT_EQ(subject, "CN=alice");
  settings.tls.certificate = other.certificate_file;
  settings.tls.key = other.key_file;
  EXPECT_THAT(fetched(server.url, settings), HasSubstr("error:"));
}

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(TlsTest, WhatAClientNeedsMayComeAsText) {
  const Identity client = make("alice", "", authority_);
  ListenAt at = listen_with(server_);
  at.tls->client_ca = authority_.certificate_file;
  at.tls->client_required = true;
  const TestServer server([](const Request& request,
                             Answer answer) { answer.send({.body = request.peer->certificate}); },
                          {}, at);
  const Identity other = test::make_identity(folder_ / "", {.name = "other"});
  // Of several authorities one is enough; what stands around them is a comment.
  ClientSettings settings{.tls = {.ca_text = "ours:\n" + text_of(other.certificate_file) +
                                             text_of(authority_.certificate_file),
                                  .certificate_text = text_of(client.certificate_file),
                                  .key_text = text_of(client.key_file)}};
  EXPECT_EQ(fetched(server.url, settings), "200 CN=alice");
  settings.tls.key_text = text_of(other.key_file);
  EXPECT_THAT(fetched(server.url, settings), HasSubstr("cannot use the client's key"));
  settings.tls.key_text = "";
  EXPECT_THAT(fetched(server.url, settings), HasSubstr("cannot use the client's key"));
  settings.tls.certificate_text = text_of(client.key_file);
  EXPECT_THAT(fetched(server.url, settings), HasSubstr("cannot read the client's certificate"));
  for (const std::string& bad :
       {std::string("no PEM at all"), text_of(authority_.certificate_file) +
                                          "-----BEGIN CERTIFICATE-----"
                                          "\nAAAA\n"}) {
    EXPECT_THAT(fetched(server.url, {.tls = {.ca_text = bad}}),
                AllOf(HasSubstr("cannot read the authority"), HasSubstr("it must be PEM")));
  }
}

TEST_F(TlsTest, AServerMayShowTheCertificateOfAnotherNameOrOfNobody) {
  const TestServer server(echo, {}, listen_with(make("inner", "DNS:inner.example", authority_)));
  ClientSettings settings = trusting(authority_);
  EXPECT_THAT(fetched(server.url, settings), HasSubstr("not accepted"));
  settings.tls.server_name = "inner.example";
  EXPECT_EQ(fetched(server.url, settings), "200 GET /");
  settings.tls.server_name = "outer.example";
  EXPECT_THAT(fetched(server.url, settings), HasSubstr("not accepted"));
  EXPECT_EQ(fetched(server.url, {.tls = {.unverified = true}}), "200 GET /");
}

TEST_F(TlsTest, NewFilesServeNewConnectionsAndOldOnesGoOn) {
  TestServer server(echo, {}, listen_with(server_));
  EventLoop loop;
  HttpClient client(loop, trusting(authority_));
  const auto get_kept = [&] {
    std::string out;
    const Call call = client.send({.url = server.url}, [&](Result<Response> got) {
      out = got ? got->body : got.error().text();
      loop.stop();
    });
    loop.run();
    return out;
  };
  EXPECT_EQ(get_kept(), "GET /");
  const Identity other = test::make_identity(folder_ / "", {.name = "other"});
  const Identity renewed = make("renewed", "IP:127.0.0.1", other);
  const auto replace = [&](const std::string& with, const std::string& name) {
    std::filesystem::copy_file(with, name, std::filesystem::copy_options::overwrite_existing);
  };
  // While only one of the two is new, the old ones stay.
  replace(renewed.key_file, server_.key_file);
  const auto halfway = server.thread.call([&] { return server.server->reload_certificates(); });
  EXPECT_FALSE(halfway.has_value());
  EXPECT_EQ(fetched(server.url, trusting(authority_)), "200 GET /");
  replace(renewed.certificate_file, server_.certificate_file);
  const auto done = server.thread.call([&] { return server.server->reload_certificates(); });
  EXPECT_TRUE(done.has_value()) << done.error().text();
  EXPECT_EQ(fetched(server.url, trusting(other)), "200 GET /");
  EXPECT_THAT(fetched(server.url, trusting(authority_)), HasSubstr("not accepted"));
  EXPECT_EQ(get_kept(), "GET /");
}

TEST_F(TlsTest, WhoDoesNotSpeakTlsIsClosed) {
  ServerSettings settings;
  settings.limits.handshake = Duration::milliseconds(50);
  TestServer server(echo, settings, listen_with(server_));
  EXPECT_THAT(test::exchange(server.url, get), testing::Not(HasSubstr("200")));
  EXPECT_THAT(test::exchange(server.url, std::string(100'000, '\x16')),
              testing::Not(HasSubstr("200")));
  RawClient silent(server.url);
  EXPECT_TRUE(silent.closed());
  Url plain = server.url;
  plain.scheme = Url::Scheme::http;
  EXPECT_THAT(fetched(plain, {}), HasSubstr("error:"));
  const TestServer other(echo);
  Url secure = other.url;
  secure.scheme = Url::Scheme::https;
  EXPECT_THAT(fetched(secure, trusting(authority_)), HasSubstr("is that an https server"));
  EXPECT_EQ(fetched(server.url, trusting(authority_)), "200 GET /");
}

TEST_F(TlsTest, StreamsAreCutShortVisibly) {
  std::optional<OpenStream> stream;
  TestServer server([&](const Request&, Answer answer) { stream = answer.stream({}); },
                    {.coalesce = Duration{}}, listen_with(server_));
  EventLoop loop;
  HttpClient client(loop, trusting(authority_));
  std::size_t got = 0;
  std::string log;
  const Call call = client.follow(
      {.url = server.url},
      {.head =
           [&](const Response&) {
             server.thread.loop.post([&] { stream->push(std::string(100'000, 'x')); });
           },
       .body =
           [&](std::string_view piece) {
             got += piece.size();
             if (got == 100'000) server.thread.loop.post([&] { server.server.reset(); });
           },
       .end =
           [&](Result<void> end) {
             log += end ? "end" : end.error().what;
             loop.stop();
           }});
  loop.run();
  EXPECT_THAT(log, HasSubstr("in the middle of its answer"));
}

}  // namespace tutti::net::tls_test
