#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "bench/api/modes.h"
#include "net/http_server.h"

namespace tutti::bench {
namespace {

using net::Answer;
using net::Descriptor;
using net::EventLoop;
using net::Request;

Result<Descriptor> open_to_append(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) return fail(net::system_error("open", path, errno));
  return file;
}

Result<void> write_durably(const Descriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0) return fail(net::system_error("write", "the file", errno));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fdatasync(file.get()) != 0) return fail(net::system_error("sync", "the file", errno));
  return {};
}

/// What gathered while the disk was busy is made durable together by a thread, and answered.
class GroupCommit {
 public:
  GroupCommit(EventLoop& loop, Descriptor file)
      : loop_(loop), file_(std::move(file)), thread_([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) commit(stop);
        }) {}

  void add(const std::string& body, Answer answer) {
    {
      const std::scoped_lock lock(mutex_);
      bodies_.append(body).append("\n");
      answers_.push_back(std::move(answer));
    }
    some_.notify_one();
  }

 private:
  void commit(const std::stop_token& stop) {
    std::string bodies;
    std::vector<Answer> answers;
    {
      std::unique_lock lock(mutex_);
      if (!some_.wait(lock, stop, [this] { return !answers_.empty(); })) return;
      bodies.swap(bodies_);
      answers.swap(answers_);
    }
    const auto written = write_durably(file_, bodies);
    CHECK(written.has_value(), written.error().text());
    loop_.post([answers = std::move(answers)]() mutable {
      for (Answer& answer : answers) {
        answer.send({.status = 201,
                     .headers = {{"Content-Type", "application/json"}},
                     .body = R"({"id":"1","ids":["1"]})"});
      }
    });
  }

  EventLoop& loop_;
  Descriptor file_;
  std::mutex mutex_;
  std::condition_variable_any some_;
  std::string bodies_;
  std::vector<Answer> answers_;
  std::jthread thread_;  ///< Last: it uses all of the above.
};

}  // namespace

Result<void> serve_null(const std::string& path) {
  EventLoop loop;
  GroupCommit file(loop, TRY(open_to_append(path)));
  net::HttpServer server(loop, {}, [&](const Request& request, Answer answer) {
    file.add(request.body, std::move(answer));
  });
  const net::Url url = TRY(server.listen({.address = "127.0.0.1:0"}));
  fmt::print("{}\n", url.server());
  std::fflush(stdout);
  loop.run();
  return {};
}

Result<void> measure_disk(const std::string& path, double seconds) {
  const Descriptor file = TRY(open_to_append(path));
  const std::string bytes(200, 'x');
  std::vector<std::int64_t> took;
  const Instant begin = EventLoop::now();
  Instant last = begin;
  while (static_cast<double>((last - begin).us) < seconds * 1e6) {
    TRY(write_durably(file, bytes));
    const Instant now = EventLoop::now();
    took.push_back((now - last).us);
    last = now;
  }
  const double all = static_cast<double>((last - begin).us) / 1e6;
  const auto count = static_cast<double>(took.size());
  fmt::print(R"({{"per_second":{:.1f},"p50_us":{},"p99_us":{}}})"
             "\n",
             count / all, percentile(took, 0.5), percentile(took, 0.99));
  return {};
}

}  // namespace tutti::bench
