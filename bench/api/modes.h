/// The parts of tutti_bench_api, which tools/bench_api.py runs: each prints one line of JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/descriptor.h"
#include "net/url.h"

namespace tutti::bench {

/// A server that does nothing but make each POST durable: its body is appended to `path`. Requests
/// that come while the disk is busy share the next wait for it. Prints its URL, and ends by signal.
Result<void> serve_null(const std::string& path);

/// Appends 200 bytes to `path` and waits for the disk, again and again.
Result<void> measure_disk(const std::string& path, double seconds);

struct Load {
  net::Url url;
  std::string token;  ///< Empty: none is sent.
  std::size_t connections = 1;
  double seconds = 1;
  std::uint64_t requests = UINT64_MAX;  ///< At most; what is under way is still waited for.
  std::string body;                     ///< Empty: a GET.
};
/// One request at a time on each of the connections.
Result<void> measure_load(const Load& load);

struct Readers {
  net::Url url;  ///< Of the server.
  std::string token;
  std::size_t count = 1;  ///< And a slow one, which reads nothing until the end.
  std::uint64_t per_second = 500;
  double seconds = 1;
};
/// Follows the events of jobs that are submitted meanwhile.
Result<void> measure_readers(const Readers& readers);

/// "GET /x HTTP/1.1" and so on, or a POST where there is a body.
std::string request_text(const net::Url& url, std::string_view token, std::string_view body,
                         std::string_view headers = {});
/// A blocking connection over TCP.
Result<net::Descriptor> connect_to(const net::Url& url);
Result<void> send_all(int socket, std::string_view bytes);
/// The value at `share` (0.99) of what was measured, which is sorted for it; 0 where there is none.
std::int64_t percentile(std::vector<std::int64_t>& values, double share);

}  // namespace tutti::bench
