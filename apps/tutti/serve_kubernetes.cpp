/// tutti serve --kubernetes: places the pods of a cluster.
#include <fmt/core.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/engine_thread.h"
#include "backend/kubernetes/cluster_feed.h"
#include "backend/kubernetes/kubernetes_backend.h"
#include "backend/kubernetes/net_wire.h"
#include "backend/kubernetes/plugin_process.h"
#include "engine/journal.h"
#include "format/text.h"
#include "generated/version.h"
#include "model/catalog.h"
#include "net/event_loop.h"
#include "sim/files.h"
#include "tutti/client.h"
#include "tutti/serve_options.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

Instant time_of_day() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

/// What lives from the start to the end, in the order in which it must. Nothing is kept: all that
/// is known comes from the API server again.
class ClusterService {
 public:
  explicit ClusterService(const KubernetesOptions& options) : options_(options) {}

  Result<int> run(const std::string& policy);

 private:
  Result<void> open(const std::string& policy);
  void start();
  Result<int> run_until(const sigset_t& ends);
  std::string whose() const;

  const KubernetesOptions& options_;
  std::string server_;
  Catalog catalog_;
  std::optional<RecipeFactory> factory_;
  NullJournal journal_;
  net::EventLoop loop_;
  std::unique_ptr<NetWire> wire_;
  std::optional<ApiClient> api_;
  std::optional<ClusterFeed> feed_;
  std::optional<KubernetesBackend> backend_;
  std::optional<Engine> engine_;
  std::optional<EngineThread> thread_;
  std::optional<Error> failure_;
};

Result<void> ClusterService::open(const std::string& policy) {
  catalog_ = TRY(Catalog::builtin());
  factory_.emplace(TRY(load_policy(policy)));
  ClusterSearch search = cluster_search_here();
  search.file = options_.kubeconfig;
  search.context = options_.context;
  const ClusterAccess access = TRY(find_cluster(search, read_mounted_file));
  server_ = access.server.server();
  wire_ = TRY(NetWire::open(loop_, access, read_mounted_file));
  api_.emplace(*wire_, Credentials(access, real_surroundings(loop_)),
               ApiSettings{.agent = fmt::format("tutti/{}", version())});
  return {};
}

/// "pods whose schedulerName is tutti".
std::string ClusterService::whose() const {
  const std::vector<std::string_view> names(options_.schedulers.begin(), options_.schedulers.end());
  return "pods whose schedulerName is " + join_names(names, names.size());
}

void ClusterService::start() {
  backend_.emplace(ClusterMirror::Options{{options_.schedulers.begin(), options_.schedulers.end()}},
                   [this](ClusterMirror::Binding binding) {
                     loop_.post([this, binding = std::move(binding)] { feed_->bind(binding); });
                   });
  engine_.emplace(journal_, *backend_, *factory_);
  EngineThread::Ports ports;
  ports.engine = &*engine_;
  ports.post = [this](EngineThread::Work work) { loop_.post(std::move(work)); };
  ports.publish = [](const std::vector<Happening>&) {};
  ports.reports_ready = backend_->wake_fd();
  ports.take_reports = [this] { return backend_->take_events(); };
  ports.keep_reports = [](std::span<const Event>) {};
  ports.clock = time_of_day;
  ports.failed = [this](const Error& error) {
    failure_ = error;
    loop_.stop();
  };
  thread_.emplace(std::move(ports));
  feed_.emplace(ClusterFeed::Ports{
      .api = &*api_,
      .catalog = &catalog_,
      .tell = [this](ClusterNews news) { backend_->tell(std::move(news)); },
      .synced =
          [this] {
            backend_->open();
            const auto printed = print(fmt::format("tutti binds {} at {}\n", whose(), server_));
            if (!printed) loop_.stop();
          },
      .complain = [](const std::string& text) { fmt::print(stderr, "{}\n", text); }});
}

Result<int> ClusterService::run_until(const sigset_t& ends) {
  const int signals = ::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  net::Watch watch = TRY(loop_.watch(signals, [this, signals] {
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) > 0) loop_.stop();
  }));
  watch.want(true, false);
  loop_.run();
  thread_.reset();
  feed_.reset();
  if (failure_) return fail(*failure_);
  return 0;
}

Result<int> ClusterService::run(const std::string& policy) {
  // Blocked before there are threads, so that none is interrupted.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  TRY(open(policy));
  start();
  return run_until(ends);
}

}  // namespace

Result<int> serve_kubernetes(const ServeOptions& options) {
  return ClusterService(options.kubernetes).run(options.policy);
}

}  // namespace tutti
