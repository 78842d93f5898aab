/// What `tutti serve` is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/health_routes.h"
#include "api/job_table.h"
#include "base/result.h"
#include "engine/follower.h"

namespace tutti {

struct KubernetesOptions {
  bool wanted = false;
  std::string kubeconfig;  ///< Empty: where kubectl looks, then what a pod finds.
  std::string context;
  std::vector<std::string> schedulers{"tutti"};  ///< Whose pods are placed.
};

struct ServeOptions {
  KubernetesOptions kubernetes;
  std::string data;
  std::string listen = "127.0.0.1:7070";
  std::string tls_cert;
  std::string tls_key;
  std::string ready_file;
  std::vector<std::string> fake_devices;
  std::vector<std::string> devices;
  std::string node_file;
  std::string nvml = "libnvidia-ml.so.1";
  std::string cgroup;  ///< Empty: the one that it was given, if it was; or "none".
  std::string policy = "default";
  std::uint32_t requests_per_second = 500;
  std::uint64_t jobs_per_user = 100'000;
  JobTable::Keeping keeping;              ///< Of jobs that ended.
  JournalRow checkpoint_every = 250'000;  ///< Rows.
  Duration keep_history = Duration::seconds(std::int64_t{7} * 86'400);
};

/// As whoever helps may see them: of files and addresses only whether there is one.
HealthRoutes::Settings settings_of(const ServeOptions& options);

/// Serves until it is told to end; returns the exit code.
Result<int> serve(const ServeOptions& options);
/// The same for the pods of a cluster.
Result<int> serve_kubernetes(const ServeOptions& options);

}  // namespace tutti
