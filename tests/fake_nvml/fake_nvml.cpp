/// A library that looks like NVIDIA's and plays the machine that a text file describes, which is
/// read anew at each call: TUTTI_FAKE_NVML names it. Words in it have no blanks; '_' stands for
/// one.
///
///   driver VERSION CUDA                          550.54.15 12040
///   card UUID BUS NAME MIB KEY=VALUE...          links=BUS,BUS,...  ecc=N  slow=MASK  lost=1 mig=1
///   slice CARD UUID NAME GPU_SLICES MIB          CARD counts from 0
///   xid CARD NUMBER                              happens once, when the line is there first
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "backend/local/nvml.h"

namespace nvml = tutti::nvml;

namespace {

struct Slice {
  std::string uuid;
  std::string name;
  unsigned gpu_slices = 0;
  unsigned long long mib = 0;
};

struct Card {
  std::string uuid;
  std::string bus;
  std::string name;
  unsigned long long mib = 0;
  std::map<std::string, std::string> more;
  std::vector<Slice> slices;

  unsigned long long number(const std::string& key) const {
    const auto found = more.find(key);
    return found == more.end() ? 0 : std::strtoull(found->second.c_str(), nullptr, 0);
  }
  std::vector<std::string> links() const {
    std::vector<std::string> out;
    const auto found = more.find("links");
    std::istringstream text(found == more.end() ? "" : found->second);
    for (std::string each; std::getline(text, each, ',');) out.push_back(each);
    return out;
  }
};

struct Machine {
  std::string driver;
  int cuda = 0;
  std::vector<Card> cards;
  std::vector<std::pair<unsigned, unsigned>> errors;
};

std::string word_of(std::istream& line) {
  std::string word;
  line >> word;
  for (char& each : word) {
    if (each == '_') each = ' ';
  }
  return word;
}

Machine read_machine() {
  Machine out;
  const char* const path = std::getenv("TUTTI_FAKE_NVML");
  std::ifstream file(path == nullptr ? "" : path);
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    const std::string kind = word_of(line);
    if (kind == "driver") {
      line >> out.driver >> out.cuda;
    } else if (kind == "card") {
      Card card;
      card.uuid = word_of(line);
      card.bus = word_of(line);
      card.name = word_of(line);
      line >> card.mib;
      for (std::string each; line >> each;) {
        card.more[each.substr(0, each.find('='))] = each.substr(each.find('=') + 1);
      }
      out.cards.push_back(card);
    } else if (kind == "slice") {
      std::size_t card = 0;
      line >> card;
      Slice slice;
      slice.uuid = word_of(line);
      slice.name = word_of(line);
      line >> slice.gpu_slices >> slice.mib;
      if (card < out.cards.size()) out.cards[card].slices.push_back(slice);
    } else if (kind == "xid") {
      unsigned card = 0;
      unsigned number = 0;
      line >> card >> number;
      out.errors.emplace_back(card, number);
    }
  }
  return out;
}

/// A handle is a number: card, and slice from 1 in the next digits; never null.
nvml::Device handle_of(std::size_t card, std::size_t slice = 0) {
  return reinterpret_cast<nvml::Device>(card + 1 + 1000 * slice);
}

/// What a call is about; null where the card is lost or there is none.
struct Asked {
  Machine machine = read_machine();
  Card* card = nullptr;
  Slice* slice = nullptr;
  int answer = nvml::not_found;

  explicit Asked(nvml::Device device) {
    const auto number = reinterpret_cast<std::uintptr_t>(device);
    const std::size_t at = number % 1000 - 1;
    if (number == 0 || at >= machine.cards.size()) return;
    card = &machine.cards[at];
    answer = card->number("lost") != 0 ? nvml::gpu_is_lost : nvml::success;
    const std::size_t cut = number / 1000;
    if (cut > 0 && cut <= card->slices.size()) slice = &card->slices[cut - 1];
  }
  bool is_good() const { return answer == nvml::success; }
};

int put(const std::string& text, char* out, unsigned size) {
  if (text.size() >= size) return 7;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return nvml::success;
}

void put_bus(const std::string& bus, nvml::Pci* out) {
  *out = {};
  std::strncpy(out->id.data(), bus.c_str(), out->id.size() - 1);
}

/// How many of the errors in the file have happened.
struct Told {
  std::mutex mutex;
  std::size_t errors = 0;
};
Told& told() {
  static Told all;
  return all;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return std::getenv("TUTTI_FAKE_NVML") == nullptr ? 9 : nvml::success; }
const char* nvmlErrorString(int answer) { return answer == 9 ? "Driver Not Loaded" : "Error"; }
int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return put(read_machine().driver, out, size);
}
int nvmlSystemGetCudaDriverVersion(int* out) {
  *out = read_machine().cuda;
  return nvml::success;
}
int nvmlDeviceGetCount_v2(unsigned* out) {
  *out = static_cast<unsigned>(read_machine().cards.size());
  return nvml::success;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml::Device* out) {
  *out = handle_of(index);
  return Asked(*out).answer;
}
int nvmlDeviceGetName(nvml::Device device, char* out, unsigned size) {
  const Asked asked(device);
  if (!asked.is_good()) return asked.answer;
  return put(asked.slice != nullptr ? asked.slice->name : asked.card->name, out, size);
}
int nvmlDeviceGetUUID(nvml::Device device, char* out, unsigned size) {
  const Asked asked(device);
  if (!asked.is_good()) return asked.answer;
  return put(asked.slice != nullptr ? asked.slice->uuid : asked.card->uuid, out, size);
}
int nvmlDeviceGetPciInfo_v3(nvml::Device device, nvml::Pci* out) {
  const Asked asked(device);
  if (asked.is_good()) put_bus(asked.card->bus, out);
  return asked.answer;
}
int nvmlDeviceGetMemoryInfo(nvml::Device device, nvml::Memory* out) {
  const Asked asked(device);
  if (asked.is_good()) *out = {.total = asked.card->mib << 20U, .free = 0, .used = 0};
  return asked.answer;
}
int nvmlDeviceGetMigMode(nvml::Device device, unsigned* current, unsigned* pending) {
  const Asked asked(device);
  if (asked.is_good()) *current = *pending = static_cast<unsigned>(asked.card->number("mig"));
  return asked.answer;
}
int nvmlDeviceGetMaxMigDeviceCount(nvml::Device /*device*/, unsigned* out) {
  *out = 7;
  return nvml::success;
}
int nvmlDeviceGetMigDeviceHandleByIndex(nvml::Device device, unsigned index, nvml::Device* out) {
  const Asked asked(device);
  if (!asked.is_good()) return asked.answer;
  if (index >= asked.card->slices.size()) return nvml::not_found;
  *out = handle_of(reinterpret_cast<std::uintptr_t>(device) - 1, index + 1);
  return nvml::success;
}
int nvmlDeviceGetAttributes_v2(nvml::Device device, nvml::Attributes* out) {
  const Asked asked(device);
  if (asked.slice == nullptr) return nvml::not_supported;
  *out = {};
  out->gpu_slices = out->compute_slices = asked.slice->gpu_slices;
  out->memory_mib = asked.slice->mib;
  return nvml::success;
}
int nvmlDeviceGetClockInfo(nvml::Device device, unsigned /*kind*/, unsigned* out) {
  const Asked asked(device);
  if (asked.is_good()) *out = asked.card->number("slow") != 0 ? 300 : 1980;
  return asked.answer;
}
int nvmlDeviceGetMaxClockInfo(nvml::Device device, unsigned /*kind*/, unsigned* out) {
  *out = 1980;
  return Asked(device).answer;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(nvml::Device device, unsigned long long* out) {
  const Asked asked(device);
  if (asked.is_good()) *out = asked.card->number("slow");
  return asked.answer;
}
int nvmlDeviceGetTotalEccErrors(nvml::Device device, unsigned kind, unsigned /*counter*/,
                                unsigned long long* out) {
  const Asked asked(device);
  if (asked.is_good()) *out = kind == nvml::uncorrected ? asked.card->number("ecc") : 12345;
  return asked.answer;
}
int nvmlDeviceGetTemperature(nvml::Device device, unsigned /*sensor*/, unsigned* out) {
  *out = 41;
  return Asked(device).answer;
}
int nvmlDeviceGetNvLinkState(nvml::Device device, unsigned link, unsigned* out) {
  const Asked asked(device);
  if (!asked.is_good()) return asked.answer;
  if (link >= asked.card->links().size()) return nvml::not_supported;
  *out = 1;
  return nvml::success;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml::Device device, unsigned link, nvml::Pci* out) {
  const Asked asked(device);
  if (!asked.is_good() || link >= asked.card->links().size()) return nvml::not_supported;
  put_bus(asked.card->links()[link], out);
  return nvml::success;
}
int nvmlEventSetCreate(nvml::EventSet* out) {
  *out = reinterpret_cast<nvml::EventSet>(1);
  return nvml::success;
}
int nvmlDeviceRegisterEvents(nvml::Device device, unsigned long long /*types*/, nvml::EventSet) {
  return Asked(device).answer;
}
int nvmlEventSetWait_v2(nvml::EventSet, nvml::EventFacts* out, unsigned timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    const Machine machine = read_machine();
    {
      const std::scoped_lock lock(told().mutex);
      if (told().errors < machine.errors.size()) {
        const auto& [card, number] = machine.errors[told().errors++];
        *out = {.device = handle_of(card), .type = nvml::event_xid, .what = number};
        return nvml::success;
      }
    }
    if (Clock::now() >= end) return nvml::timeout;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // extern "C"
