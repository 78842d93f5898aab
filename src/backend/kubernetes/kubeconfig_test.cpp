#include "backend/kubernetes/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace tutti::kubeconfig_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string whole = R"(apiVersion: v1
kind: Config
preferences: {}
current-context: prod
clusters:
- name: prod
  cluster:
    server: https://api.example:6443/k8s/clusters/c-1
    certificate-authority: pki/ca.crt
    tls-server-name: inner.example
    proxy-url: http://me:pa%20ss@proxy.example:3128
- name: lab
  cluster: {server: "https://[::1]:6443", insecure-skip-tls-verify: true}
users:
- name: admin
  user:
    client-certificate-data: Y2VydA==
    client-key-data: a2V5
- name: robot
  user:
    tokenFile: ../robot.token
    token: OLD-TOKEN
- name: cloud
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: bin/login
      args: [--cluster, c-1]
      env: [{name: REGION, value: eu}]
      installHint: get it from the cloud
      provideClusterInfo: true
      interactiveMode: Never
contexts:
- name: prod
  context: {cluster: prod, user: admin, namespace: ml}
- name: lab
  context: {cluster: lab, user: robot}
)";

Kubeconfig parsed(const std::string& text, const std::string& file = "/srv/kube/config") {
  auto out = parse_kubeconfig(text, file);
  EXPECT_TRUE(out.has_value()) << out.error().text();
  return out ? *std::move(out) : Kubeconfig{};
}

std::string refusal(const std::string& text) {
  const auto out = parse_kubeconfig(text, "config");
  return out ? "accepted" : out.error().text();
}

TEST(KubeconfigTest, EveryFieldIsRead) {
  const Kubeconfig config = parsed(whole);
  const auto prod = access_of(config, "");
  ASSERT_TRUE(prod.has_value()) << prod.error().text();
  EXPECT_EQ(prod->context, "prod");
  EXPECT_EQ(prod->space, "ml");
  EXPECT_EQ(prod->server.text(), "https://api.example:6443/k8s/clusters/c-1");
  EXPECT_EQ(prod->authority.file, "/srv/kube/pki/ca.crt");
  EXPECT_EQ(prod->tls_server_name, "inner.example");
  ASSERT_TRUE(prod->proxy.has_value());
  EXPECT_EQ(prod->proxy->url.text(), "http://proxy.example:3128");
  EXPECT_EQ(prod->proxy->authorization, "Basic bWU6cGEgc3M=");
  EXPECT_EQ(prod->user.certificate.text, "cert");
  EXPECT_EQ(prod->user.key.text, "key");

  const auto lab = access_of(config, "lab");
  ASSERT_TRUE(lab.has_value()) << lab.error().text();
  EXPECT_EQ(lab->server.host, "::1");
  EXPECT_TRUE(lab->unverified);
  EXPECT_EQ(lab->space, "default");
  EXPECT_EQ(lab->user.token.file, "/srv/robot.token");
  EXPECT_EQ(lab->user.token.text, "OLD-TOKEN");

  ASSERT_TRUE(config.users[2].plugin.has_value());
  const CredentialPlugin& plugin = *config.users[2].plugin;
  EXPECT_EQ(plugin.command, "/srv/kube/bin/login");
  EXPECT_THAT(plugin.arguments, ElementsAre("--cluster", "c-1"));
  EXPECT_THAT(plugin.environment, ElementsAre(std::pair("REGION", "eu")));
  EXPECT_EQ(plugin.install_hint, "get it from the cloud");
  EXPECT_TRUE(plugin.wants_cluster);
}

TEST(KubeconfigTest, JsonIsReadToo) {
  const Kubeconfig config =
      parsed(R"({"clusters": [{"name": "c", "cluster": {"server": "http://h"}}], "users": null})");
  ASSERT_EQ(config.clusters.size(), 1U);
  EXPECT_EQ(config.clusters[0].where, "/srv/kube/config:1:15");
  EXPECT_TRUE(parsed("").clusters.empty());
}

TEST(KubeconfigTest, WhatIsWrongIsSaidWithItsPlaceAndTheWayOut) {
  const struct {
    const char* text;
    const char* error;
    const char* way_out;
  } rows[]{
      {"users:\n- name: u\n  user: {username: a, token: b}", "config:3:20: users[0].user.username",
       "leave one of them out"},
      {"users: [{name: u, user: {client-key: k}}]", "client-key: a certificate and its key", ""},
      {"users: [{name: u, user: {auth-provider: {name: gcp}}}]", "has given these up",
       "plugin under exec"},
      {"users: [{name: u, user: {as: root}}]", "acting for somebody else is not supported", ""},
      {"users: [{name: u, user: {client-certificate-data: '*'}}]",
       "users[0].user.client-certificate-data: it is no base64", "base64 -w0 FILE"},
      {"users: [{name: u, user: {exec: {command: c, apiVersion: v2}}}]", "\"v2\" is not supported",
       "client.authentication.k8s.io/v1"},
      {"users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1}}}]",
       "users[0].user.exec.command is missing", ""},
      {"users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: c, "
       "interactiveMode: Always}}}]",
       "nobody sits at a terminal", "a plugin that needs nobody"},
      {"users: [{user: {}}]", "users[0].name is missing", ""},
      {"clusters: [{name: c}, {name: c}]", "config:1:23: cluster \"c\" stands here twice",
       "config:1:12"},
      {"clusters: [{name: c, cluster: {insecure-skip-tls-verify: true, certificate-authority: f}}]",
       "it goes with no certificate authority", ""},
      {"clusters: {a: b}", "expected a list", ""},
      {"- a", "this is no kubeconfig", "kubectl config view"},
      {"a: [", "config:", ""},
      {"a: 1\n---\nb: 2", "one document", ""},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(refusal(row.text), AllOf(HasSubstr(row.error), HasSubstr(row.way_out)));
  }
}

TEST(KubeconfigTest, NoErrorShowsASecret) {
  for (
      const char* text :
      {"users: [{name: u, user: {token: 5318008}}]", "users: [{name: u, user: [5318008]}]",
       "users: [{name: u, user: '5318008'}]", "users: [{name: u, user: {password: [5318008]}}]",
       "users: [{name: u, user: {token: \"5318008\\n5318008\"}}]",
       "users: [{name: u, user: {client-key-data: '5318008!', client-certificate-data: ''}}]",
       "users: [{name: u, user: {exec: '5318008'}}]",
       R"(users: [{name: u, user: {exec: {apiVersion: v1, env: [{name: N, value: 5318008}]}}}])"}) {
    EXPECT_THAT(refusal(text), AllOf(HasSubstr("error: config:1:"), Not(HasSubstr("5318008"))))
        << text;
  }
  const Kubeconfig config = parsed(R"(
clusters: [{name: c, cluster: {server: "http://h", proxy-url: "ftp://me:5318008@h"}}]
users: [{name: u}]
contexts: [{name: x, context: {cluster: c, user: u}}])");
  const auto access = access_of(config, "x");
  ASSERT_FALSE(access.has_value());
  EXPECT_THAT(access.error().text(), AllOf(HasSubstr("proxy-url"), Not(HasSubstr("5318008"))));
}

TEST(KubeconfigTest, AContextLeadsToAClusterAndAUserOrSaysWhatIsMissing) {
  const auto refused = [](const std::string& more, const std::string& context) {
    const auto access = access_of(parsed("users: [{name: u}]\n" + more), context);
    return access ? "accepted" : access.error().text();
  };
  EXPECT_THAT(refused("contexts: [{name: prod}]", ""),
              AllOf(HasSubstr("names no current context"), HasSubstr("prod")));
  EXPECT_THAT(refused("contexts: [{name: prod}]", "prd"),
              AllOf(HasSubstr("no context \"prd\""), HasSubstr("did you mean \"prod\"?")));
  EXPECT_THAT(refused("contexts: [{name: prod, context: {cluster: c, user: u}}]", "prod"),
              AllOf(HasSubstr("config:2:12: context \"prod\": there is no cluster \"c\"")));
  EXPECT_THAT(refused("clusters: [{name: c}]\n"
                      "contexts: [{name: prod, context: {cluster: c, user: v}}]",
                      "prod"),
              HasSubstr("there is no user \"v\""));
  EXPECT_THAT(
      refused("clusters: [{name: c}]\n"
              "contexts: [{name: prod, context: {cluster: c, user: u}}]",
              "prod"),
      AllOf(HasSubstr("config:2:12: cluster \"c\" has no server"), HasSubstr("server: https://")));
  EXPECT_THAT(refused("clusters: [{name: c, cluster: {server: 'localhost:80'}}]\n"
                      "contexts: [{name: prod, context: {cluster: c, user: u}}]",
                      "prod"),
              HasSubstr("it does not say how to connect"));
  EXPECT_THAT(
      refused("clusters: [{name: c, cluster: {server: 'http://h', proxy-url: 'https://p'}}]\n"
              "contexts: [{name: prod, context: {cluster: c, user: u}}]",
              "prod"),
      HasSubstr("a proxy must be reached by http"));
}

// --- Several files, and none --------------------------------------------------------------------

class FindClusterTest : public testing::Test {
 protected:
  std::string found(const ClusterSearch& search) const {
    const auto access = find_cluster(search, [&](const std::string& path) -> Result<std::string> {
      const auto file = files_.find(path);
      if (file == files_.end())
        return fail({.code = Code::not_found, .what = "gone", .where = path});
      if (file->second == "closed")
        return fail({.code = Code::io, .what = "closed", .where = path});
      return file->second;
    });
    if (!access) return access.error().text();
    return access->context + " " + access->server.text() + " " + access->user.name + " " +
           access->space + " " + access->user.token.text + access->user.token.file;
  }
  static std::string file(const std::string& current, const std::string& server,
                          const std::string& token) {
    return "current-context: " + current + "\nclusters: [{name: c, cluster: {server: 'https://" +
           server + "'}}]\nusers: [{name: u, user: {token: " + token +
           "}}]\ncontexts: [{name: " + server + ", context: {cluster: c, user: u}}]\n";
  }

  std::map<std::string, std::string> files_{
      {"/a", file("''", "a", "ta")}, {"/b", file("b", "b", "tb")}, {"/closed", "closed"}};
};

TEST_F(FindClusterTest, FilesAreMergedAsKubectlDoes) {
  // The first to name something wins, entry by entry; so does the first current context.
  EXPECT_EQ(found({.files = "/a:/b"}), "b https://a u default ta");
  EXPECT_EQ(found({.files = "/b:/a"}), "b https://b u default tb");
  EXPECT_EQ(found({.files = "/a:/b", .context = "a"}), "a https://a u default ta");
  EXPECT_EQ(found({.files = ":/missing::/b"}), "b https://b u default tb");
  EXPECT_THAT(found({.files = "/b:/closed"}), HasSubstr("error: /closed: closed"));
}

TEST_F(FindClusterTest, TheOrderOfPlacesIsKept) {
  files_["/home/.kube/config"] = file("h", "h", "th");
  files_["/sa/namespace"] = "tutti-system";
  ClusterSearch search{.files = "/b",
                       .home = "/home",
                       .pod_host = "10.0.0.1",
                       .pod_port = "6443",
                       .account_folder = "/sa"};
  search.file = "/missing";
  EXPECT_THAT(found(search), HasSubstr("error: /missing: gone"));
  search.file = "";
  EXPECT_EQ(found(search), "b https://b u default tb");
  search.files = "";
  EXPECT_EQ(found(search), "h https://h u default th");
  search.home = "/elsewhere";
  EXPECT_EQ(found(search),
            "this pod https://10.0.0.1:6443 its service account tutti-system /sa/token");
  search.pod_host = "fd00::1";
  search.pod_port = "";
  EXPECT_THAT(found(search), HasSubstr("https://[fd00::1] "));
  search.pod_host = "";
  EXPECT_THAT(found(search), AllOf(HasSubstr("there is no kubeconfig"), HasSubstr("--kubeconfig")));
  files_["/empty"] = "";
  search.file = "/empty";
  EXPECT_THAT(found(search), HasSubstr("this kubeconfig is empty"));
}

}  // namespace tutti::kubeconfig_test
