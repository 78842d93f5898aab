#include "backend/kubernetes/cluster_feed.h"

#include <fmt/core.h>

#include <utility>

#include "format/json.h"

namespace tutti {
namespace {

/// More of them are not remembered: then one may come again.
constexpr std::size_t complaints_most = 10'000;

std::string pod_path(const ClusterMirror::Binding& binding) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", binding.space, binding.pod);
}

/// With the uid, so that no pod is bound that was made anew under the same name.
std::string binding_json(const ClusterMirror::Binding& binding) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("apiVersion", "v1").member("kind", "Binding");
  json.key("metadata").begin_object().member("name", binding.pod);
  json.member("namespace", binding.space).member("uid", binding.uid).end_object();
  json.key("target").begin_object().member("apiVersion", "v1").member("kind", "Node");
  json.member("name", binding.node).end_object().end_object();
  return out;
}

}  // namespace

ClusterFeed::ClusterFeed(Ports ports) : ports_(std::move(ports)) {
  nodes_ = std::make_unique<ListWatch>(*ports_.api, ListWatchSettings{.path = "/api/v1/nodes"},
                                       node_reports());
  // What has ended uses nothing; when something ends, it leaves the list.
  pods_ = std::make_unique<ListWatch>(
      *ports_.api,
      ListWatchSettings{.path = "/api/v1/pods",
                        .query = "fieldSelector=status.phase%21%3DSucceeded%2C"
                                 "status.phase%21%3DFailed"},
      pod_reports());
}

WatchReports ClusterFeed::node_reports() {
  return {.replace = [this] { ports_.tell([](ClusterMirror& to) { to.begin_nodes(); }); },
          .replaced = [this] { ports_.tell([](ClusterMirror& to) { to.end_nodes(); }); },
          .upsert = [this](const ObjectHead&, std::string_view object) { take_node(object); },
          .remove =
              [this](const ObjectHead& head, std::string_view) {
                ports_.tell([name = head.name](ClusterMirror& to) { to.node_gone(name); });
              },
          .synced = [this] { one_synced(); },
          .trouble = [this](const WatchTrouble& trouble) { complain_of(trouble, "nodes"); }};
}

WatchReports ClusterFeed::pod_reports() {
  return {
      .replace = [this] { ports_.tell([](ClusterMirror& to) { to.begin_pods(); }); },
      .replaced = [this] { ports_.tell([](ClusterMirror& to) { to.end_pods(); }); },
      .upsert = [this](const ObjectHead& head, std::string_view object) { take_pod(head, object); },
      .remove =
          [this](const ObjectHead& head, std::string_view) {
            ports_.tell([uid = head.uid](ClusterMirror& to) { to.pod_gone(uid); });
          },
      .synced = [this] { one_synced(); },
      .trouble = [this](const WatchTrouble& trouble) { complain_of(trouble, "pods"); }};
}

void ClusterFeed::one_synced() {
  if (--to_sync_ == 0) ports_.synced();
}

void ClusterFeed::take_node(std::string_view object) {
  const Result<Value> value = parse_json(object);
  if (!value) return complain("a node: " + value.error().what);
  Result<NodeSpec> node = decode_node(*value, ports_.catalog);
  if (!node) return complain(node.error().what);
  ports_.tell([node = *std::move(node)](ClusterMirror& to) mutable { to.node(std::move(node)); });
}

void ClusterFeed::take_pod(const ObjectHead& head, std::string_view object) {
  const Result<Value> value = parse_json(object);
  if (!value) return complain("a pod: " + value.error().what);
  Result<PodRecord> pod = decode_pod(*value, ports_.catalog);
  if (!pod) {
    complain(pod.error().what);
    return ports_.tell([uid = head.uid](ClusterMirror& to) { to.pod_gone(uid); });
  }
  ports_.tell([pod = *std::move(pod)](ClusterMirror& to) mutable { to.pod(std::move(pod)); });
}

void ClusterFeed::complain(const std::string& text) {
  if (complained_.size() >= complaints_most) complained_.clear();
  const auto [known, fresh] = complained_.insert(text);
  if (fresh) ports_.complain(*known);
}

void ClusterFeed::complain_of(const WatchTrouble& trouble, std::string_view what) {
  ports_.complain(fmt::format("{}: {}", what, trouble.text));
}

// --- Bindings -----------------------------------------------------------------------------------

void ClusterFeed::fly(ApiRequest request, ApiClient::Done done) {
  const std::uint64_t flight = next_flight_++;
  flights_[flight] = ports_.api->send(
      std::move(request),
      [this, flight, done = std::move(done)](ApiResult<net::Response> got) mutable {
        const auto landed = flights_.extract(flight);
        done(std::move(got));
      });
}

void ClusterFeed::bind(const ClusterMirror::Binding& binding) {
  fly({.verb = Verb::create, .path = pod_path(binding) + "/binding", .body = binding_json(binding)},
      [this, binding](const ApiResult<net::Response>& got) {
        if (got) return;  // The watch will say so.
        const ApiFailure& failure = got.error();
        constexpr int conflict = 409;  // It is bound already, by us or others, or is going.
        if (failure.maybe_done || failure.status == conflict) return look(binding, failure.message);
        refuse(binding, failure.message);
      });
}

void ClusterFeed::look(const ClusterMirror::Binding& binding, const std::string& why) {
  fly({.verb = Verb::get, .path = pod_path(binding)}, [this, binding,
                                                       why](const ApiResult<net::Response>& got) {
    const Result<Value> value = got ? parse_json(got->body) : fail(Code::io, got.error().message);
    const Result<PodRecord> pod = value ? decode_pod(*value, ports_.catalog) : fail(value.error());
    // Where it is bound, the watch says so; what was read here may be older than its news.
    if (!pod || pod->uid != binding.uid || pod->node.empty()) refuse(binding, why);
  });
}

void ClusterFeed::refuse(const ClusterMirror::Binding& binding, std::string why) {
  ports_.tell([task = binding.task, attempt = binding.attempt,
               why = std::move(why)](ClusterMirror& to) { to.refused(task, attempt, why); });
}

}  // namespace tutti
