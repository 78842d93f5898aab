#include "backend/kubernetes/kubernetes_backend.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "base/check.h"

namespace tutti {

KubernetesBackend::KubernetesBackend(ClusterMirror::Options options, Bind bind)
    : mirror_(std::move(options)),
      bind_(std::move(bind)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(wake_.valid());
}

void KubernetesBackend::wake() const {
  constexpr std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void KubernetesBackend::execute(const Action& action, const State& state) {
  if (action.kind != ActionKind::place) return;
  auto binding = mirror_.order(action, state.fleet().node(action.node).name);
  if (binding) return bind_(*std::move(binding));
  wake();  // Then the mirror has something to say of it.
}

void KubernetesBackend::tell(ClusterNews news) {
  const std::scoped_lock lock(mutex_);
  inbox_.push_back(std::move(news));
  if (open_ && inbox_.size() == 1) wake();
}

void KubernetesBackend::open() {
  const std::scoped_lock lock(mutex_);
  open_ = true;
  wake();
}

std::vector<Event> KubernetesBackend::take_events() {
  std::uint64_t times = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &times, sizeof times);
  std::vector<ClusterNews> news;
  {
    const std::scoped_lock lock(mutex_);
    if (!open_) return {};
    news = std::exchange(inbox_, {});
  }
  for (ClusterNews& each : news) each(mirror_);
  return mirror_.take();
}

}  // namespace tutti
