/// tutti_read_dump FILE: reads a Kubernetes dump as `tutti sim` does, and prints as JSON
///   peak_bytes      the most memory that the process ever held (VmHWM)
///   state_bytes     what lives on the heap when only the result is left
///   resident_bytes  what the process holds after free memory went back to the system (VmRSS)
/// Reading took peak - state: this counts the program itself, and holes in the heap, as reading.
#include <fmt/core.h>
#include <malloc.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "format/json.h"
#include "sim/files.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
#define TUTTI_ADDRESS_SANITIZER
#endif
#endif

namespace tutti {
namespace {

/// Bytes that malloc has handed out and not got back.
std::uint64_t live_bytes() {
#ifdef TUTTI_ADDRESS_SANITIZER
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
#endif
}

/// A line of /proc/self/status, such as "VmHWM:    1234 kB". That of getrusage would also count
/// what this process was before it became this program.
std::uint64_t status_bytes(std::string_view name) {
  const std::string text = read_file("/proc/self/status").value_or("");
  const std::size_t line = text.find(std::string(name) + ":");
  if (line == text.npos) return 0;
  const std::size_t digits = text.find_first_of("0123456789", line);
  std::uint64_t kib = 0;
  std::from_chars(text.data() + digits, text.data() + text.size(), kib);
  return kib << 10U;
}

Result<std::string> measure(const std::string& path) {
  const Catalog catalog = TRY(load_catalog({}));
  const std::uint64_t before = live_bytes();
  const auto begin = std::chrono::steady_clock::now();
  Skipped skipped;
  const Snapshot snapshot = TRY(load_snapshot(path, catalog, skipped));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const std::uint64_t state = live_bytes() - before;
  const std::uint64_t peak = status_bytes("VmHWM");
  malloc_trim(0);
  std::uint64_t pods = 0;
  for (const Snapshot::Standing& job : snapshot.standing) pods += job.pods.size();
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("nodes", snapshot.fleet.nodes.size()).member("pods", pods);
  json.member("seconds", took.count()).member("peak_bytes", peak).member("state_bytes", state);
  json.member("resident_bytes", status_bytes("VmRSS")).end_object();
  return out + "\n";
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: tutti_read_dump FILE\n", stderr);
    return 2;
  }
  const tutti::Result<std::string> text = tutti::measure(argv[1]);
  std::fputs(text ? text->c_str() : text.error().text().c_str(), text ? stdout : stderr);
  return text ? 0 : 2;
}
