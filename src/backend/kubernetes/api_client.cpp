#include "backend/kubernetes/api_client.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "backend/kubernetes/api_core.h"

namespace tutti {
namespace {

constexpr std::size_t refusal_bytes_max = 64 << 10U;

std::string_view method_of(Verb verb) {
  switch (verb) {
    case Verb::get:
    case Verb::list:
    case Verb::watch:
      return "GET";
    case Verb::create:
      return "POST";
    case Verb::update:
      return "PUT";
    case Verb::patch:
      return "PATCH";
    case Verb::remove:
      return "DELETE";
  }
  return "GET";
}

/// The server turned it away before it did anything.
bool was_turned_away(const ApiFailure& failure) {
  return failure.status == 429 || (failure.status == 503 && failure.retry_after.has_value());
}

/// Neither done nor refused, as far as can be told.
bool is_open(const ApiFailure& failure) {
  return !was_turned_away(failure) && (failure.status == 0 || failure.status >= 500);
}

bool may_repeat(const ApiJob& job, const ApiFailure& failure) {
  if (job.request.once || job.follows()) return false;
  return was_turned_away(failure) || (is_open(failure) && !job.is_write());
}

bool is_success(int status) { return status >= 200 && status < 300; }

/// What the wire says, without its hint, which speaks of servers in general.
ApiFailure no_answer(const Error& error) {
  ApiFailure out;
  out.message = error.what;
  return out;
}

}  // namespace

// --- Calls --------------------------------------------------------------------------------------

ApiCall::ApiCall(std::weak_ptr<ApiCore> core, std::shared_ptr<ApiJob> job)
    : core_(std::move(core)), job_(std::move(job)) {}
ApiCall::ApiCall(ApiCall&&) noexcept = default;
ApiCall& ApiCall::operator=(ApiCall&& other) noexcept {
  std::swap(core_, other.core_);
  std::swap(job_, other.job_);
  return *this;
}
ApiCall::~ApiCall() {
  const auto core = core_.lock();
  if (job_ && core) core->cancel(job_);
}

ApiClient::ApiClient(Wire& wire, Credentials credentials, ApiSettings settings)
    : core_(std::make_shared<ApiCore>(wire, std::move(credentials), std::move(settings))) {}
ApiClient::~ApiClient() = default;

Wire& ApiClient::wire() { return core_->wire; }

std::size_t ApiClient::in_flight() const {
  return core_->lanes[0].in_flight + core_->lanes[1].in_flight;
}

ApiCall ApiClient::send(ApiRequest request, Done done) {
  auto job = std::make_shared<ApiJob>();
  job->request = std::move(request);
  job->done = std::move(done);
  return begin(std::move(job));
}

ApiCall ApiClient::follow(ApiRequest request, Follower follower) {
  auto job = std::make_shared<ApiJob>();
  job->request = std::move(request);
  job->request.verb = Verb::watch;
  job->follower = std::move(follower);
  return begin(std::move(job));
}

ApiCall ApiClient::begin(std::shared_ptr<ApiJob> job) {
  core_->add(job);
  return {core_, std::move(job)};
}

// --- Waiting and starting -----------------------------------------------------------------------

ApiCore::ApiCore(Wire& on, Credentials with, ApiSettings said)
    : wire(on),
      credentials(std::move(with)),
      settings(std::move(said)),
      prng(settings.seed, 0x6b38),
      lanes{Lane{.room = settings.reads, .waiting = {}},
            Lane{.room = settings.writes, .waiting = {}},
            Lane{.room = std::numeric_limits<std::size_t>::max(), .waiting = {}}} {}

void ApiCore::add(const Job& job) {
  job->until = wire.now() + job->request.deadline;
  job->deadline =
      wire.after(job->request.deadline, [weak = weak_from_this(), of = std::weak_ptr(job)] {
        const auto self = weak.lock();
        const auto late = of.lock();
        if (self && late) self->out_of_time(late);
      });
  lane_of(*job).waiting.push_back(job);
  pump();
}

void ApiCore::cancel(const Job& job) {
  if (job->ended) return;
  land(*job);
  std::erase(lane_of(*job).waiting, job);
  job->ended = true;
  job->pause.reset();
  job->deadline.reset();
  pump();
}

void ApiCore::pump() {
  const auto has_work = [](const Lane& lane) {
    return !lane.waiting.empty() && lane.in_flight < lane.room;
  };
  if (renewing || std::ranges::none_of(lanes, has_work)) return;
  if (!credentials.fresh(wire.now())) return renew();
  for (Lane& lane : lanes) {
    while (has_work(lane)) {
      const Job job = std::move(lane.waiting.front());
      lane.waiting.pop_front();
      // One whose time is over is about to hear so.
      if (wire.now() < job->until) start(job);
    }
  }
}

void ApiCore::renew() {
  renewing = true;
  credentials.renew(wire.now(), [weak = weak_from_this()](Result<void> result) {
    if (const auto self = weak.lock()) self->renewed(std::move(result));
  });
}

void ApiCore::renewed(Result<void> result) {
  if (result) {
    const Credential& now = credentials.credential();
    if (now.certificate != shown.certificate || now.key != shown.key) {
      wire.identify(now.certificate, now.key);
    }
    shown = now;
    renewing = false;
    return pump();
  }
  // From the loop, because whoever asks may be inside the call that brought us here.
  soon = wire.after({}, [weak = weak_from_this(), error = std::move(result).error()] {
    const auto self = weak.lock();
    if (!self) return;
    self->renewing = false;
    std::deque<Job> all;
    for (Lane& lane : self->lanes) {
      std::ranges::move(std::exchange(lane.waiting, {}), std::back_inserter(all));
    }
    for (const Job& job : all) {
      if (job->ended) continue;
      ApiFailure failure{.status = 401, .message = error.what};
      if (!error.where.empty()) failure.message = error.where + ": " + failure.message;
      self->fail(job, std::move(failure));
    }
    self->pump();
  });
}

WireRequest ApiCore::as_sent(const ApiJob& job) const {
  const ApiRequest& request = job.request;
  WireRequest out{.method = std::string(method_of(request.verb)),
                  .target = request.path,
                  .body = request.body,
                  .deadline = job.until - wire.now(),
                  .silence = request.silence};
  if (!request.query.empty()) out.target += "?" + request.query;
  out.headers.add("Accept", "application/json").add("User-Agent", settings.agent);
  if (!request.body.empty()) out.headers.add("Content-Type", request.content_type);
  if (!shown.authorization.empty()) out.headers.add("Authorization", shown.authorization);
  return out;
}

void ApiCore::start(const Job& job) {
  job->in_flight = true;
  ++lane_of(*job).in_flight;
  const auto with = [weak = weak_from_this(), of = std::weak_ptr(job)](auto what) {
    const auto self = weak.lock();
    const auto mine = of.lock();
    if (self && mine && !mine->ended) what(*self, mine);
  };
  if (!job->follows()) {
    job->attempt = wire.send(as_sent(*job), [with](Result<net::Response> got) {
      with([&](ApiCore& self, const Job& mine) { self.take_response(mine, std::move(got)); });
    });
    return;
  }
  job->attempt = wire.follow(
      as_sent(*job),
      {.head =
           [with](const net::Response& head) {
             with([&](ApiCore& self, const Job& mine) { self.take_head(mine, head); });
           },
       .body =
           [with](std::string_view piece) {
             with([&](ApiCore& self, const Job& mine) { self.take_body(mine, piece); });
           },
       .end =
           [with](Result<void> end) {
             with([&](ApiCore& self, const Job& mine) { self.take_end(mine, std::move(end)); });
           }});
}

// --- Answers ------------------------------------------------------------------------------------

void ApiCore::take_response(const Job& job, Result<net::Response> got) {
  land(*job);
  if (!got) return take_failure(job, no_answer(got.error()));
  if (!is_success(got->status)) return take_failure(job, failure_of(*got));
  job->deadline.reset();
  job->ended = true;
  pump();
  job->done(*std::move(got));
}

void ApiCore::take_head(const Job& job, const net::Response& head) {
  job->refused = !is_success(head.status);
  if (job->refused) {
    job->refusal = head;
    return;
  }
  job->deadline.reset();
  if (job->follower.begin) job->follower.begin();
}

void ApiCore::take_body(const Job& job, std::string_view piece) {
  if (job->refused) {
    std::string& text = job->refusal.body;
    text += piece.substr(0, refusal_bytes_max - std::min(text.size(), refusal_bytes_max));
  } else if (job->follower.body) {
    job->follower.body(piece);
  }
}

void ApiCore::take_end(const Job& job, Result<void> end) {
  land(*job);
  if (job->refused) return take_failure(job, failure_of(job->refusal));
  if (!end) return fail(job, no_answer(end.error()));
  job->ended = true;
  if (job->follower.end) job->follower.end({});
}

void ApiCore::take_failure(const Job& job, ApiFailure failure) {
  if (failure.status == 401 && !std::exchange(job->renewed, true)) {
    credentials.refuse(wire.now());
    if (renewing || !credentials.fresh(wire.now())) {
      job->refused = false;
      lane_of(*job).waiting.push_front(job);
      return pump();
    }
  }
  failure.maybe_done = job->is_write() && is_open(failure);
  if (!may_repeat(*job, failure)) return fail(job, std::move(failure));
  const Duration delay = job->backoff.next(prng) + failure.retry_after.value_or(Duration{});
  if (wire.now() + delay >= job->until) return fail(job, std::move(failure));
  job->pause = wire.after(delay, [weak = weak_from_this(), of = std::weak_ptr(job)] {
    const auto self = weak.lock();
    const auto mine = of.lock();
    if (!self || !mine || mine->ended) return;
    self->lane_of(*mine).waiting.push_back(mine);
    self->pump();
  });
  pump();
}

void ApiCore::out_of_time(const Job& job) {
  if (job->ended) return;
  ApiFailure failure{.message =
                         fmt::format("no answer within {} s", job->request.deadline.in_seconds())};
  // Whoever only waited was never heard.
  failure.maybe_done = job->is_write() && job->in_flight;
  land(*job);
  std::erase(lane_of(*job).waiting, job);
  fail(job, std::move(failure));
}

/// It is in flight no more.
void ApiCore::land(ApiJob& job) {
  job.attempt.reset();
  if (std::exchange(job.in_flight, false)) --lane_of(job).in_flight;
}

void ApiCore::fail(const Job& job, ApiFailure failure) {
  job->ended = true;
  job->deadline.reset();
  job->pause.reset();
  failure.about = fmt::format("{} {}", method_of(job->request.verb), job->request.path);
  pump();
  if (job->done) return job->done(std::unexpected(std::move(failure)));
  if (job->follower.end) job->follower.end(std::unexpected(std::move(failure)));
}

}  // namespace tutti
