/// The API server's side of a cluster: watches nodes and pods, and binds.
///
/// Belongs to the thread of the client's loop. Objects are decoded here; what cannot be read is
/// complained of once and left out. A binding that was surely not made is a refusal; where that is
/// open, the pod is asked for first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "backend/kubernetes/api_client.h"
#include "backend/kubernetes/cluster_mirror.h"
#include "backend/kubernetes/kubernetes_backend.h"
#include "backend/kubernetes/list_watch.h"

namespace tutti {

class ClusterFeed {
 public:
  struct Ports {
    ApiClient* api = nullptr;
    const Catalog* catalog = nullptr;
    std::function<void(ClusterNews)> tell;
    std::function<void()> synced;  ///< All nodes and pods were told of. Once.
    std::function<void(const std::string&)> complain;
  };
  /// What `ports` name must outlive it.
  explicit ClusterFeed(Ports ports);

  void bind(const ClusterMirror::Binding& binding);

 private:
  WatchReports node_reports();
  WatchReports pod_reports();
  void take_node(std::string_view object);
  void take_pod(const ObjectHead& head, std::string_view object);
  void complain(const std::string& text);
  void complain_of(const WatchTrouble& trouble, std::string_view what);
  void one_synced();
  void look(const ClusterMirror::Binding& binding, const std::string& why);
  void refuse(const ClusterMirror::Binding& binding, std::string why);
  void fly(ApiRequest request, ApiClient::Done done);

  Ports ports_;
  int to_sync_ = 2;
  std::set<std::string> complained_;
  std::uint64_t next_flight_ = 0;
  std::map<std::uint64_t, ApiCall> flights_;
  std::unique_ptr<ListWatch> nodes_;
  std::unique_ptr<ListWatch> pods_;
};

}  // namespace tutti
