/// The variables by which the tasks of a gang find each other.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "backend/local/launch_order.h"
#include "model/job.h"

namespace tutti {

/// A task among those that start with it. All of them run on this machine.
struct GangPlace {
  const JobSpec* spec = nullptr;
  std::uint32_t first = 0;  ///< Ordinal of the gang's first task.
  std::uint32_t tasks = 0;
  std::uint32_t rank = 0;
};

/// RANK, LOCAL_RANK, WORLD_SIZE and LOCAL_WORLD_SIZE, which torchrun and its like read; MASTER_ADDR
/// and MASTER_PORT; and TF_CONFIG of TensorFlow, in which each task has a port of its own.
void add_gang_variables(const GangPlace& place, const PortRow& ports,
                        std::map<std::string, std::string>& variables);

/// What MPI and DeepSpeed call a host file.
std::string host_file(const GangPlace& place);

}  // namespace tutti
