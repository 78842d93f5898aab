/// How a Kubernetes API server is reached and who asks: from kubeconfig files, merged as kubectl
/// does, or from what a pod finds.
///
/// Text goes in and values come out; `find_cluster` alone asks for files, by the function that it
/// is given. Errors stand at file:line:column, say what to do, and never show a secret.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/http_client.h"
#include "net/url.h"

namespace tutti {

/// PEM or a token: as text, or in a file that may change. Text goes first.
struct FileOrText {
  std::string text;
  std::string file;

  bool empty() const { return text.empty() && file.empty(); }
};

struct KubeCluster {
  std::string name;
  std::string where;  ///< Of its entry, for errors: "/srv/kube/config:7:5".
  std::string server;
  FileOrText authority;  ///< Empty: those of the system.
  std::string tls_server_name;
  bool unverified = false;  ///< insecure-skip-tls-verify
  std::string proxy;
};

/// A command that prints credentials (client.authentication.k8s.io).
struct CredentialPlugin {
  std::string api_version;
  std::string command;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string install_hint;
  bool wants_cluster = false;  ///< provideClusterInfo
};

struct KubeUser {
  std::string name;
  std::string where;
  FileOrText token;
  FileOrText certificate;
  FileOrText key;
  std::string username;
  std::string password;
  std::optional<CredentialPlugin> plugin;
};

struct Kubeconfig {
  /// A cluster, a user, and where in it the user works.
  struct Context {
    std::string name;
    std::string where;
    std::string cluster;
    std::string user;
    std::string space;  ///< namespace
  };

  std::vector<KubeCluster> clusters;
  std::vector<KubeUser> users;
  std::vector<Context> contexts;
  std::string current;  ///< Name of a context.
};

/// Relative paths in it become those that are meant: relative to the folder of `file`.
Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& file);

/// What `into` has already stays, entry by entry.
void merge(Kubeconfig& into, Kubeconfig from);

/// One server and one user.
struct ClusterAccess {
  std::string context;  ///< Its name, or "this pod".
  net::Url server;      ///< Its path, if it has one, goes before all others.
  std::optional<net::Proxy> proxy;
  FileOrText authority;
  std::string tls_server_name;
  bool unverified = false;
  KubeUser user;
  std::string space = "default";
};

/// What a context leads to; an empty name is the current one.
Result<ClusterAccess> access_of(const Kubeconfig& config, const std::string& context);

/// Code::not_found where there is no such file.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

/// Where to look, in this order: `file`, `files`, `home`, the pod.
struct ClusterSearch {
  std::string file;      ///< Must be there.
  std::string files;     ///< KUBECONFIG, between colons; those that are missing do not count.
  std::string home;      ///< HOME, for .kube/config in it.
  std::string context;   ///< Empty: the current one.
  std::string pod_host;  ///< KUBERNETES_SERVICE_HOST
  std::string pod_port;  ///< KUBERNETES_SERVICE_PORT
  std::string account_folder = "/var/run/secrets/kubernetes.io/serviceaccount";
};

/// As this process was started.
ClusterSearch cluster_search_here();
Result<ClusterAccess> find_cluster(const ClusterSearch& search, const ReadFile& read_file);

/// The text, or what the file holds; empty where there is neither.
Result<std::string> read(const FileOrText& what, const ReadFile& read_file);

}  // namespace tutti
