#include "backend/kubernetes/net_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <optional>

#include "backend/kubernetes/list_watch.h"
#include "backend/kubernetes/plugin_process.h"
#include "backend/kubernetes/test_objects.h"
#include "format/base64.h"
#include "net/test_certificates.h"
#include "net/test_net.h"

namespace tutti::net_wire_test {

using testing::ElementsAre;
using testing::HasSubstr;

/// An https server that wants a certificate of its clients, and a kubeconfig that leads to it.
class NetWireTest : public testing::Test {
 protected:
  net::test::Identity make(const std::string& name, const std::string& hosts) {
    return net::test::make_identity(folder_ / "",
                                    {.name = name, .hosts = hosts, .authority = &authority_});
  }
  static std::string base64_of(const std::string& file) {
    return to_base64(read_mounted_file(file).value());
  }
  std::unique_ptr<net::test::TestServer> serve(net::HttpServer::OnRequest on_request) {
    return std::make_unique<net::test::TestServer>(
        std::move(on_request), net::ServerSettings{.coalesce = Duration{}},
        net::ListenAt{.address = "127.0.0.1:0",
                      .tls = net::TlsFiles{.certificate = server_.certificate_file,
                                           .key = server_.key_file,
                                           .client_ca = authority_.certificate_file,
                                           .client_required = true}});
  }
  ClusterAccess access_to(const net::Url& url) {
    std::ofstream(folder_ / "config")
        << "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
        << "clusters: [{name: c, cluster: {server: '" << url.text() << "/prefix/',\n"
        << "  tls-server-name: inner.example,\n"
        << "  certificate-authority-data: " << base64_of(authority_.certificate_file) << "}}]\n"
        << "users: [{name: u, user: {token: t0ken,\n"
        << "  client-certificate-data: " << base64_of(client_.certificate_file) << ",\n"
        << "  client-key: u.key}}]\n";
    auto access = find_cluster({.file = folder_ / "config"}, read_mounted_file);
    EXPECT_TRUE(access.has_value()) << access.error().text();
    return *std::move(access);
  }
  ApiClient client_for(Wire& wire, const ClusterAccess& access) {
    return {wire, Credentials(access, real_surroundings(loop_))};
  }

  net::test::Folder folder_;
  net::test::Identity authority_ = net::test::make_identity(folder_ / "", {.name = "authority"});
  net::test::Identity server_ = make("server", "DNS:inner.example");
  net::test::Identity client_ = make("u", "");
  net::EventLoop loop_;
};

TEST_F(NetWireTest, AClusterIsListedAndWatchedOverTls) {
  std::optional<net::OpenStream> stream;
  std::vector<std::string> asked;
  bool watched = false;
  const auto server = serve([&](const net::Request& request, net::Answer answer) {
    asked.push_back(request.path + " " + request.peer->certificate + " " +
                    std::string(request.headers.find("Authorization").value_or("")));
    if (!request.query_value("watch")) {
      return answer.send({.body = R"({"metadata":{"resourceVersion":"7"},"items":[)" +
                                  test::object_of("a", "1", 5) + "]}"});
    }
    if (std::exchange(watched, true)) return answer.send(test::status_of(404, "NotFound"));
    stream = answer.stream({});
    stream->push(test::line_of("ADDED", test::object_of("b", "1", 8)));
  });
  const ClusterAccess access = access_to(server->url);
  auto wire = NetWire::open(loop_, access, read_mounted_file);
  ASSERT_TRUE(wire.has_value()) << wire.error().text();
  ApiClient api = client_for(**wire, access);
  std::vector<std::string> log;
  const ListWatch pods(api, {.path = "/api/v1/pods", .streams = false},
                       {.replaced = [&] { log.emplace_back("all"); },
                        .upsert =
                            [&](const ObjectHead& head, std::string_view object) {
                              EXPECT_EQ(object.front(), '{');
                              log.push_back("+" + head.name);
                              if (head.name == "b") {
                                server->thread.loop.post([&] { stream.reset(); });
                              }
                            },
                        .remove = {},
                        .synced = {},
                        .trouble =
                            [&](const WatchTrouble& said) {
                              log.push_back(said.text);
                              loop_.stop();
                            }});
  const net::Timer limit = loop_.after(Duration::seconds(20), [&] { loop_.stop(); });
  loop_.run();
  EXPECT_THAT(log, ElementsAre("+a", "all", "+b", HasSubstr("NotFound (404)"), "all"));
  ASSERT_GE(asked.size(), 2U);
  EXPECT_EQ(asked[0], "/prefix/api/v1/pods CN=u Bearer t0ken");
}

TEST_F(NetWireTest, AWrongAuthorityOrNameIsAnErrorThatSaysSo) {
  const auto server = serve(net::test::echo);
  ClusterAccess access = access_to(server->url);
  const auto asked = [&] {
    auto wire = NetWire::open(loop_, access, read_mounted_file);
    if (!wire) return wire.error().text();
    ApiClient api = client_for(**wire, access);
    std::string out;
    const ApiCall call = api.send({.path = "/a", .once = true}, [&](ApiResult<net::Response> got) {
      out = got ? got->body : got.error().error().text();
      loop_.stop();
    });
    loop_.run();
    return out;
  };
  EXPECT_EQ(asked(), "GET /prefix/a");
  access.tls_server_name = "outer.example";
  EXPECT_THAT(asked(), HasSubstr("GET /a: its certificate is not accepted"));
  access.unverified = true;
  EXPECT_EQ(asked(), "GET /prefix/a");
  access.unverified = false;
  access.authority = {.file = folder_ / "missing"};
  EXPECT_THAT(asked(), HasSubstr("missing: cannot read it"));
}

}  // namespace tutti::net_wire_test
