#include "backend/local/nvml.h"

#include <dlfcn.h>

namespace tutti::nvml {
namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
}

Functions find_all(void* library) {
  Functions out;
  find(library, "nvmlInit_v2", out.init);
  find(library, "nvmlSystemGetDriverVersion", out.driver_version);
  find(library, "nvmlSystemGetCudaDriverVersion", out.cuda_version);
  find(library, "nvmlDeviceGetCount_v2", out.count);
  find(library, "nvmlDeviceGetHandleByIndex_v2", out.by_index);
  find(library, "nvmlDeviceGetName", out.name);
  find(library, "nvmlDeviceGetUUID", out.uuid);
  find(library, "nvmlDeviceGetPciInfo_v3", out.pci);
  find(library, "nvmlDeviceGetMemoryInfo", out.memory);
  find(library, "nvmlDeviceGetMigMode", out.mig_mode);
  find(library, "nvmlDeviceGetMaxMigDeviceCount", out.mig_count_max);
  find(library, "nvmlDeviceGetMigDeviceHandleByIndex", out.mig_by_index);
  find(library, "nvmlDeviceGetAttributes_v2", out.attributes);
  find(library, "nvmlDeviceGetClockInfo", out.clock);
  find(library, "nvmlDeviceGetMaxClockInfo", out.clock_max);
  find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", out.slow_reasons);
  find(library, "nvmlDeviceGetTotalEccErrors", out.memory_errors);
  find(library, "nvmlDeviceGetTemperature", out.temperature);
  find(library, "nvmlDeviceGetNvLinkState", out.link_state);
  find(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", out.link_remote);
  find(library, "nvmlEventSetCreate", out.event_set);
  find(library, "nvmlDeviceRegisterEvents", out.register_events);
  find(library, "nvmlEventSetWait_v2", out.wait);
  return out;
}

std::string reason_of(int answer, void* library) {
  const char* (*text)(int) = nullptr;
  find(library, "nvmlErrorString", text);
  const char* const found = text == nullptr ? nullptr : text(answer);
  return found == nullptr ? "error " + std::to_string(answer) : found;
}

}  // namespace

Result<Library> Library::open(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    return fail(Code::not_found, why == nullptr ? path + ": it cannot be loaded" : why);
  }
  const Functions functions = find_all(library);
  if (functions.init == nullptr || functions.count == nullptr || functions.by_index == nullptr ||
      functions.uuid == nullptr || functions.name == nullptr) {
    return fail(Code::unsupported, path + " is no NVML, or older than all that we know");
  }
  const int answer = functions.init();
  if (answer == success) return Library(functions);
  return fail(Code::io, path + " does not start: " + reason_of(answer, library));
}

}  // namespace tutti::nvml
