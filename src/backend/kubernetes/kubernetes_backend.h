/// A Kubernetes cluster as a backend: the engine's side of it.
///
/// What the watches see comes from the thread of their loop by `tell`, and becomes events on the
/// engine's thread, which alone has the mirror: so the mirror knows every order before it hears of
/// what others did. Orders to bind go out by `bind`; orders to evict are not carried out: pods
/// belong to who made them.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "backend/kubernetes/cluster_mirror.h"
#include "engine/backend.h"
#include "net/descriptor.h"

namespace tutti {

/// Something to tell the mirror.
using ClusterNews = std::move_only_function<void(ClusterMirror&)>;

class KubernetesBackend final : public Backend {
 public:
  /// Hands the binding over to who carries it out. Called on the engine's thread.
  using Bind = std::function<void(ClusterMirror::Binding)>;

  KubernetesBackend(ClusterMirror::Options options, Bind bind);

  void execute(const Action& action, const State& state) override;
  std::vector<Observed> observe() override { return mirror_.observe(); }

  /// From any thread, in the order in which it happened.
  void tell(ClusterNews news);
  /// Nodes and pods are complete: from now on there are events. Until then the fleet would seem
  /// emptier than it is. From any thread.
  void open();

  /// Readable when take_events has something to do.
  int wake_fd() const { return wake_.get(); }
  std::vector<Event> take_events();

 private:
  void wake() const;

  ClusterMirror mirror_;
  Bind bind_;
  net::Descriptor wake_;  ///< An eventfd.
  std::mutex mutex_;
  std::vector<ClusterNews> inbox_;  ///< Guarded by mutex_ ...
  bool open_ = false;               ///< ... and so is this.
};

}  // namespace tutti
