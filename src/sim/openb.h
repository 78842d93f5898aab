/// Readers for the "openb" GPU-sharing traces (Alibaba clusterdata, cluster-trace-gpu-v2023).
///
/// Nodes: sn, cpu_milli, memory_mib, gpu, model. Pods: name, cpu_milli, memory_mib, num_gpu,
/// gpu_milli [, gpu_spec, qos, pod_phase, creation_time, deletion_time, scheduled_time]; gpu_spec
/// lists the allowed models, separated by '|'. Times are seconds.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "dialect/workload.h"

namespace tutti {

Result<FleetFile> read_openb_nodes(std::string_view text, std::string name, Skipped& skipped);
Result<Workload> read_openb_pods(std::string_view text, std::string name, Skipped& skipped);

}  // namespace tutti
