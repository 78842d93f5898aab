/// For the tests of backend/kubernetes/: time that only passes when it is told to, and a wire whose
/// other end is a function.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/kubernetes/wire.h"

namespace tutti::test {

/// Tasks in the order of their times; of one time, in the order of the calls.
class VirtualTime {
 public:
  Ticket after(Duration delay, Wire::Task task) {
    struct Held final : Underway {
      explicit Held(std::shared_ptr<Wire::Task> what) : task(std::move(what)) {}
      std::shared_ptr<Wire::Task> task;
    };
    auto shared = std::make_shared<Wire::Task>(std::move(task));
    tasks_[{now_ + delay, count_++}] = shared;
    return std::make_unique<Held>(std::move(shared));
  }
  void run_for(Duration time) {
    const Instant end = now_ + time;
    while (!tasks_.empty() && tasks_.begin()->first.first <= end) {
      const auto next = tasks_.extract(tasks_.begin());
      now_ = std::max(now_, next.key().first);
      const auto task = next.mapped().lock();
      if (task) (*task)();
    }
    now_ = end;
  }
  Instant now() const { return now_; }

 private:
  Instant now_{1'000'000'000};
  std::uint64_t count_ = 0;
  std::map<std::pair<Instant, std::uint64_t>, std::weak_ptr<Wire::Task>> tasks_;
};

/// The server's end of a response that is followed. Everything arrives a little later, in order.
class FarStream {
 public:
  FarStream(VirtualTime& time, WireRequest request, Wire::Follower follower)
      : time_(time), request_(std::move(request)), follower_(std::move(follower)) {}

  const WireRequest& request() const { return request_; }
  bool open() const { return !over_; }
  void head(net::Response response) {
    later([this, response = std::move(response)] { follower_.head(response); });
  }
  void body(std::string bytes) {
    later([this, bytes = std::move(bytes)] {
      listen();
      follower_.body(bytes);
    });
  }
  void end(Result<void> how = {}) {
    later([this, how = std::move(how)] { finish(how); });
  }
  /// What is sent from now on comes so much later.
  void stall(Duration time) { free_ = std::max(free_, time_.now() + time); }
  /// For the wire.
  void finish(const Result<void>& how) {
    if (std::exchange(over_, true)) return;
    waiting_.clear();
    follower_.end(how);
  }
  void dropped() {
    over_ = true;
    waiting_.clear();
    silence_.reset();
  }
  void listen() {
    if (request_.silence == Duration::max()) return;
    silence_ = time_.after(request_.silence,
                           [this] { finish(fail(Code::io, "nothing came for a while")); });
  }

 private:
  void later(std::function<void()> what) {
    if (over_) return;
    const Instant from = std::max(free_, time_.now());
    waiting_.push_back(
        time_.after(from - time_.now() + Duration::milliseconds(1), [this, what = std::move(what)] {
          const Ticket first = std::move(waiting_.front());
          waiting_.pop_front();
          what();
        }));
  }

  VirtualTime& time_;
  WireRequest request_;
  Wire::Follower follower_;
  bool over_ = false;
  Instant free_;                ///< Nothing comes before.
  std::deque<Ticket> waiting_;  ///< In the order in which they come.
  Ticket silence_;
};

class SimWire final : public Wire {
 public:
  explicit SimWire(VirtualTime& time) : time_(time) {}

  /// The answer, and how long the server takes for it.
  struct Answer {
    Result<net::Response> response;
    Duration delay = Duration::milliseconds(2);
  };
  std::function<Answer(const WireRequest&)> on_request;
  std::function<void(const std::shared_ptr<FarStream>&)> on_stream;
  std::vector<std::string> log;  ///< "GET /api/v1/pods?limit=5", as they reach the server.
  std::vector<std::string> identities;

  Ticket send(WireRequest request, Done done) override {
    struct Exchange final : Underway {
      Ticket timer;
      Ticket deadline;
      Done done;
    };
    auto out = std::make_unique<Exchange>();
    Exchange* const exchange = out.get();
    exchange->done = std::move(done);
    exchange->deadline = time_.after(request.deadline, [exchange] {
      exchange->timer.reset();
      auto tell = std::move(exchange->done);
      tell(fail(Code::io, "no answer in time"));
    });
    exchange->timer = time_.after(Duration::milliseconds(1), [this, exchange, request] {
      log.push_back(request.method + " " + request.target);
      Answer answer = on_request(request);
      exchange->timer =
          time_.after(answer.delay, [exchange, response = std::move(answer.response)]() mutable {
            exchange->deadline.reset();
            auto tell = std::move(exchange->done);
            tell(std::move(response));
          });
    });
    return out;
  }

  Ticket follow(WireRequest request, Follower follower) override {
    struct Following final : Underway {
      ~Following() override { stream->dropped(); }
      std::shared_ptr<FarStream> stream;
      Ticket begin;
    };
    auto out = std::make_unique<Following>();
    out->stream = std::make_shared<FarStream>(time_, std::move(request), std::move(follower));
    out->begin = time_.after(Duration::milliseconds(1), [this, stream = out->stream] {
      log.push_back("GET " + stream->request().target);
      stream->listen();
      on_stream(stream);
    });
    return out;
  }

  Ticket after(Duration delay, Task task) override { return time_.after(delay, std::move(task)); }
  Instant now() const override { return time_.now(); }
  void identify(const std::string& certificate, const std::string& key) override {
    identities.push_back(certificate + "/" + key);
  }

  std::size_t count(std::string_view part) const {
    std::size_t out = 0;
    for (const std::string& line : log) out += line.find(part) == std::string::npos ? 0 : 1;
    return out;
  }

 private:
  VirtualTime& time_;
};

}  // namespace tutti::test
