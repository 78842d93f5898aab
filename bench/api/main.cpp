/// tutti_bench_api MODE ...: the parts of `./dev bench api` (tools/bench_api.py).
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "bench/api/modes.h"

namespace tutti::bench {
namespace {

struct Words {
  std::string mode;
  std::string file;
  std::string url;
  std::string token;
  std::size_t connections = 1;
  double seconds = 1;
  std::uint64_t requests = UINT64_MAX;
  std::uint64_t per_second = 500;
};

Result<std::string> content(const std::string& path) {
  if (path.empty()) return "";
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Code::not_found, "cannot read it: " + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<void> run(const Words& words) {
  if (words.mode == "null") return serve_null(words.file);
  if (words.mode == "disk") return measure_disk(words.file, words.seconds);
  const net::Url url = TRY(net::Url::parse(words.url));
  if (words.mode == "readers") {
    return measure_readers({.url = url,
                            .token = words.token,
                            .count = words.connections,
                            .per_second = words.per_second,
                            .seconds = words.seconds});
  }
  return measure_load({.url = url,
                       .token = words.token,
                       .connections = words.connections,
                       .seconds = words.seconds,
                       .requests = words.requests,
                       .body = TRY(content(words.file))});
}

int main_of(int argc, char** argv) {
  Words words;
  CLI::App app;
  app.add_option("mode", words.mode)
      ->required()
      ->check(CLI::IsMember({"null", "disk", "load", "readers"}));
  app.add_option("--file", words.file);
  app.add_option("--url", words.url);
  app.add_option("--token", words.token);
  app.add_option("--connections", words.connections);
  app.add_option("--seconds", words.seconds);
  app.add_option("--requests", words.requests);
  app.add_option("--per-second", words.per_second);
  CLI11_PARSE(app, argc, argv);
  const Result<void> done = run(words);
  if (done) return 0;
  fmt::print(stderr, "error: {}\n", done.error().text());
  return 1;
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) { return tutti::bench::main_of(argc, argv); }
