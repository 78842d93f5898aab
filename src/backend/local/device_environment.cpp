#include "backend/local/device_environment.h"

#include <algorithm>
#include <string_view>

namespace tutti {
namespace {

/// The devices of one vendor on a node: all of them, and those of the task.
struct Vendor {
  std::size_t all = 0;
  std::vector<std::string> places;
  std::vector<std::string> ids;
};

Vendor devices_of(std::string_view name, const Fleet& fleet, NodeIndex node,
                  const DeviceSet& devices) {
  Vendor out;
  unsigned ordinal = 0;
  for (const Device& device : fleet.devices(node)) {
    const DeviceType& type = fleet.types()[device.type.value()];
    const bool has = devices.contains(ordinal++);
    if (type.vendor != name || type.kind == DeviceKind::nic) continue;
    if (has) out.places.push_back(std::to_string(out.all));
    if (has) out.ids.push_back(device.id);
    ++out.all;
  }
  return out;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& each : texts) out += (out.empty() ? "" : ",") + each;
  return out;
}

bool is_uuid(const std::string& id) { return id.starts_with("GPU-") || id.starts_with("MIG-"); }

void add_nvidia(const Vendor& nvidia, std::vector<std::string>& out) {
  const bool by_id = std::ranges::all_of(nvidia.ids, is_uuid);
  const std::string list = joined(by_id ? nvidia.ids : nvidia.places);
  out.push_back("CUDA_VISIBLE_DEVICES=" + list);
  // The order in which the driver's own tools and libraries count.
  if (!by_id) out.emplace_back("CUDA_DEVICE_ORDER=PCI_BUS_ID");
  out.push_back("NVIDIA_VISIBLE_DEVICES=" + (list.empty() ? "void" : list));
}

void add_amd(const Vendor& amd, std::vector<std::string>& out) {
  // The second counts among those that the first has let through. -1 is no card.
  std::vector<std::string> again;
  for (std::size_t at = 0; at < amd.places.size(); ++at) again.push_back(std::to_string(at));
  const bool none = again.empty();
  out.push_back("ROCR_VISIBLE_DEVICES=" + (none ? "-1" : joined(amd.places)));
  out.push_back("HIP_VISIBLE_DEVICES=" + (none ? "-1" : joined(again)));
}

}  // namespace

std::vector<std::string> device_environment(const Fleet& fleet, NodeIndex node,
                                            const DeviceSet& devices) {
  std::vector<std::string> out;
  const Vendor nvidia = devices_of("nvidia", fleet, node, devices);
  if (nvidia.all > 0) add_nvidia(nvidia, out);
  const Vendor amd = devices_of("amd", fleet, node, devices);
  if (amd.all > 0) add_amd(amd, out);
  const Vendor huawei = devices_of("huawei", fleet, node, devices);
  if (huawei.all > 0) out.push_back("ASCEND_RT_VISIBLE_DEVICES=" + joined(huawei.places));
  return out;
}

}  // namespace tutti
