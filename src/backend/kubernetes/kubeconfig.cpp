#include "backend/kubernetes/kubeconfig.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "format/base64.h"
#include "format/text.h"

namespace tutti {
namespace {

template <class Entry>
void add_new(std::vector<Entry>& into, std::vector<Entry> from) {
  for (Entry& entry : from) {
    const auto same = [&](const Entry& known) { return known.name == entry.name; };
    if (std::ranges::none_of(into, same)) into.push_back(std::move(entry));
  }
}

template <class Entry>
const Entry* find_named(const std::vector<Entry>& entries, const std::string& name) {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  return found == entries.end() ? nullptr : &*found;
}

template <class Entry>
std::string known_names(std::string_view name, const std::vector<Entry>& entries) {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries) names.push_back(entry.name);
  return did_you_mean(name, names);
}

std::unexpected<Error> wrong(Code code, const std::string& where, std::string what,
                             std::string hint = {}) {
  return fail({.code = code, .what = std::move(what), .where = where, .hint = std::move(hint)});
}

/// "http://user:password@host:3128", of which no error shows what stands before the '@'.
Result<net::Proxy> proxy_of(const KubeCluster& cluster) {
  net::Proxy out;
  std::string text = cluster.proxy;
  const std::size_t scheme = text.find("://");
  const std::size_t host = scheme == text.npos ? 0 : scheme + 3;
  const std::size_t end = std::min(text.find('/', host), text.size());
  const std::size_t at = text.substr(0, end).rfind('@');
  if (at != text.npos && at >= host) {
    const auto login = net::percent_decode(text.substr(host, at - host));
    if (!login) return wrong(Code::invalid, cluster.where, "proxy-url: " + login.error().what);
    out.authorization = "Basic " + to_base64(*login);
    text.erase(host, at + 1 - host);
  }
  auto url = net::Url::parse(text);
  if (url && url->scheme == net::Url::Scheme::http) {
    out.url = *std::move(url);
    return out;
  }
  return wrong(url ? Code::unsupported : Code::invalid, cluster.where,
               "proxy-url: " + (url ? "a proxy must be reached by http" : url.error().what),
               "for example: http://proxy.example:3128");
}

Result<ClusterAccess> reach(const KubeCluster& cluster) {
  if (cluster.server.empty()) {
    return wrong(Code::invalid, cluster.where,
                 fmt::format("cluster {} has no server", quote(cluster.name)),
                 "for example: server: https://10.0.0.1:6443");
  }
  auto server = net::Url::parse(cluster.server);
  if (!server || server->scheme == net::Url::Scheme::unix_socket) {
    return wrong(Code::invalid, cluster.where,
                 "server: " + (server ? "it is no http or https URL" : server.error().what),
                 "for example: server: https://10.0.0.1:6443");
  }
  ClusterAccess out;
  out.server = *std::move(server);
  if (!cluster.proxy.empty()) out.proxy = TRY(proxy_of(cluster));
  out.authority = cluster.authority;
  out.tls_server_name = cluster.tls_server_name;
  out.unverified = cluster.unverified;
  return out;
}

Result<Kubeconfig> read_files(const ClusterSearch& search, const ReadFile& read_file) {
  if (!search.file.empty()) {
    return parse_kubeconfig(TRY(read_file(search.file)), search.file);
  }
  std::string files = search.files;
  if (files.empty() && !search.home.empty()) files = search.home + "/.kube/config";
  Kubeconfig out;
  for (std::size_t at = 0; at < files.size();) {
    const std::size_t colon = std::min(files.find(':', at), files.size());
    const std::string file = files.substr(at, colon - at);
    at = colon + 1;
    if (file.empty()) continue;
    const auto text = read_file(file);
    if (!text && text.error().code == Code::not_found) continue;
    if (!text) return fail(text.error());
    merge(out, TRY(parse_kubeconfig(*text, file)));
  }
  return out;
}

Result<ClusterAccess> access_of_pod(const ClusterSearch& search, const ReadFile& read_file) {
  const bool is_ipv6 = search.pod_host.find(':') != std::string::npos;
  const std::string& port = search.pod_port.empty() ? "443" : search.pod_port;
  const std::string server = is_ipv6 ? fmt::format("https://[{}]:{}", search.pod_host, port)
                                     : fmt::format("https://{}:{}", search.pod_host, port);
  ClusterAccess out = TRY(reach({.name = "this pod",
                                 .where = "KUBERNETES_SERVICE_HOST",
                                 .server = server,
                                 .authority = {.file = search.account_folder + "/ca.crt"}}));
  out.context = "this pod";
  out.user = {.name = "its service account", .where = search.account_folder};
  out.user.token.file = search.account_folder + "/token";
  if (auto space = read_file(search.account_folder + "/namespace")) out.space = *std::move(space);
  return out;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

void merge(Kubeconfig& into, Kubeconfig from) {
  add_new(into.clusters, std::move(from.clusters));
  add_new(into.users, std::move(from.users));
  add_new(into.contexts, std::move(from.contexts));
  if (into.current.empty()) into.current = std::move(from.current);
}

Result<ClusterAccess> access_of(const Kubeconfig& config, const std::string& context) {
  const std::string& name = context.empty() ? config.current : context;
  if (name.empty()) {
    return wrong(Code::invalid, "", "the kubeconfig names no current context",
                 "choose one with --context; " + known_names("", config.contexts));
  }
  const Kubeconfig::Context* const chosen = find_named(config.contexts, name);
  if (chosen == nullptr) {
    return wrong(Code::not_found, "", fmt::format("there is no context {}", quote(name)),
                 known_names(name, config.contexts));
  }
  const KubeCluster* const cluster = find_named(config.clusters, chosen->cluster);
  if (cluster == nullptr) {
    return wrong(
        Code::not_found, chosen->where,
        fmt::format("context {}: there is no cluster {}", quote(name), quote(chosen->cluster)),
        known_names(chosen->cluster, config.clusters));
  }
  const KubeUser* const user = find_named(config.users, chosen->user);
  if (user == nullptr) {
    return wrong(Code::not_found, chosen->where,
                 fmt::format("context {}: there is no user {}", quote(name), quote(chosen->user)),
                 known_names(chosen->user, config.users));
  }
  ClusterAccess out = TRY(reach(*cluster));
  out.context = name;
  out.user = *user;
  if (!chosen->space.empty()) out.space = chosen->space;
  return out;
}

ClusterSearch cluster_search_here() {
  ClusterSearch out;
  out.files = variable("KUBECONFIG");
  out.home = variable("HOME");
  out.pod_host = variable("KUBERNETES_SERVICE_HOST");
  out.pod_port = variable("KUBERNETES_SERVICE_PORT");
  return out;
}

Result<ClusterAccess> find_cluster(const ClusterSearch& search, const ReadFile& read_file) {
  const Kubeconfig config = TRY(read_files(search, read_file));
  const bool empty = config.contexts.empty() && config.clusters.empty() && config.users.empty();
  const bool in_pod = !search.pod_host.empty() && search.file.empty() && search.context.empty();
  if (empty && in_pod) return access_of_pod(search, read_file);
  if (!empty) return access_of(config, search.context);
  if (!search.file.empty()) {
    return wrong(Code::invalid, search.file, "this kubeconfig is empty",
                 "`kubectl config view --raw --minify` prints one");
  }
  return wrong(Code::not_found, search.files, "there is no kubeconfig",
               "set KUBECONFIG, name a file with --kubeconfig, or run in a pod");
}

Result<std::string> read(const FileOrText& what, const ReadFile& read_file) {
  if (!what.text.empty() || what.file.empty()) return what.text;
  return read_file(what.file);
}

}  // namespace tutti
