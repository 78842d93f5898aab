#include "api/attach_routes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/attach_frame.h"
#include "api/job_access.h"
#include "api/query.h"
#include "dialect/workload.h"
#include "format/json.h"

namespace tutti {
namespace {

/// How soon it is looked again whether a task has begun or ended: at first, and after a while.
constexpr Duration first_look = Duration::milliseconds(5);
constexpr Duration later_looks = Duration::milliseconds(100);
/// How long the end of a task may take to be known once its terminal is gone.
constexpr Duration for_the_end = Duration::seconds(10);
/// On their way to whoever looks: beyond it the task has to wait.
constexpr std::size_t screen_most = 256 << 10U;
/// Typed ahead.
constexpr std::size_t typed_most = 256 << 10U;

std::string end_of(const JobRow& job, const TaskRow& task) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("state", to_text(job.state));
  json.member("task", to_text(task.phase)).member("exit_code", task.exit_code);
  json.member("reason", job.reason).end_object();
  return out;
}

}  // namespace

/// Somebody at a task.
class AttachRoutes::Session {
 public:
  Session(AttachRoutes& owner, TaskId task, std::string token, net::Duplex duplex)
      : owner_(owner), task_(task), token_(std::move(token)), duplex_(std::move(duplex)) {}

  void start() {
    duplex_.start([this](std::string_view bytes) { hear(bytes); }, [this](const auto&) { left(); });
    duplex_.on_written([this] { pass_on(); });
    check_later();
    look();
  }

 private:
  const JobRow& job() const { return *owner_.ports_.jobs->find(task_.job); }
  bool forgotten() const { return owner_.ports_.jobs->find(task_.job) == nullptr; }

  void check_later() {
    checking_ = owner_.ports_.loop->after(owner_.ports_.between_checks, [this] {
      if (owner_.ports_.still_good(token_)) return check_later();
      give_up("the token is not good any more");
    });
  }

  /// Has the task begun, or ended?
  void look() {
    if (forgotten()) return give_up("it ended, and is forgotten by now");
    const TaskRow& task = job().tasks[task_.ordinal];
    const bool over = tutti::ended(task.phase) || tutti::ended(job().state);
    if (!port_ && over) return say_end(task);
    if (!port_ && task.phase == TaskPhase::running && task.attempt != attempt_) {
      if (auto opened = owner_.ports_.open_terminal(task_, task.attempt)) {
        attempt_ = task.attempt;
        begin(*std::move(opened));
        return;
      }
    }
    if (gone_at_ && net::EventLoop::now() - *gone_at_ > for_the_end) {
      return give_up("somebody else looks at this task now, or it was not shown fast enough");
    }
    timer_ = owner_.ports_.loop->after(pause_, [this] { look(); });
    pause_ = std::min(pause_ + first_look, later_looks);
  }

  void begin(std::unique_ptr<TerminalPort> port) {
    auto watch = owner_.ports_.loop->watch(port->fd(), [this] { on_ready(); });
    if (!watch) return give_up(watch.error().what);
    port_ = std::move(port);
    watch_ = *std::move(watch);
    gone_at_.reset();
    duplex_.write(frame('b', {}));
    if (size_) port_->resize(size_->first, size_->second);
    type();
    want();
  }

  void on_ready() {
    type();
    pass_on();
  }

  /// What the task wrote, as far as it is taken.
  void pass_on() {
    while (port_ && duplex_.queued() < screen_most) {
      const std::optional<std::string> piece = port_->output();
      if (!piece) return lose();
      if (piece->empty()) break;
      for (std::string_view rest = *piece; !rest.empty();) {
        duplex_.write(frame('o', rest.substr(0, frame_bytes_most)));
        rest.remove_prefix(std::min(rest.size(), frame_bytes_most));
      }
    }
    want();
  }

  /// What was typed, as far as the task takes it.
  void type() {
    if (!port_) return;
    typed_.erase(0, port_->input(typed_));
    if (typed_.empty() && typed_all_) {
      port_->end_input();
      typed_all_ = false;
    }
    duplex_.hold(typed_.size() > typed_most);
  }

  void want() {
    if (port_) watch_.want(duplex_.queued() < screen_most, !typed_.empty());
  }

  /// The terminal is gone: with the task, or for another one who looks.
  void lose() {
    watch_ = {};
    port_.reset();
    pause_ = first_look;
    gone_at_ = net::EventLoop::now();
    look();
  }

  void hear(std::string_view bytes) {
    const Result<void> good =
        reader_.add(bytes, [this](char kind, std::string_view content) { take(kind, content); });
    if (!good) return give_up(good.error().what);
    type();
    want();
    if (!port_) duplex_.hold(typed_.size() > typed_most);
  }

  void take(char kind, std::string_view content) {
    if (kind == 'i') {
      typed_ += content;
    } else if (kind == 'e') {
      typed_all_ = true;
    } else if (kind == 'w') {
      const std::size_t blank = content.find(' ');
      if (blank == content.npos) return;
      const auto rows = natural<std::uint16_t>(content.substr(0, blank));
      const auto columns = natural<std::uint16_t>(content.substr(blank + 1));
      if (!rows || !columns) return;
      size_ = {*rows, *columns};
      if (port_) port_->resize(*rows, *columns);
    } else if (kind == 's') {
      const auto number = natural<unsigned>(content);
      if (!number || *number < 1 || *number > 64) return;
      port_ ? port_->signal(static_cast<int>(*number))
            : cancel();  // What has not begun has nobody to hear it.
    }
  }

  void say_end(const TaskRow& task) {
    duplex_.write(frame('x', end_of(job(), task)));
    owner_.end(this);
  }

  void give_up(const std::string& why) {
    std::string text;
    JsonWriter(text).begin_object().member("error", why).end_object();
    duplex_.write(frame('x', text));
    owner_.end(this);
  }

  void left() {
    cancel();
    owner_.end(this);
  }

  void cancel() {
    if (forgotten() || tutti::ended(job().state)) return;
    owner_.ports_.engine->send({JobCancelled{task_.job}}, [](const EngineThread::Answers&) {});
  }

  AttachRoutes& owner_;
  TaskId task_;
  std::string token_;
  net::Duplex duplex_;
  FrameReader reader_;
  std::unique_ptr<TerminalPort> port_;
  net::Watch watch_;
  net::Timer timer_;
  net::Timer checking_;
  Duration pause_ = first_look;
  std::uint32_t attempt_ = 0;       ///< That was looked at last.
  std::optional<Instant> gone_at_;  ///< When its terminal went.
  std::string typed_;               ///< And not yet taken.
  bool typed_all_ = false;
  std::optional<std::pair<std::uint16_t, std::uint16_t>> size_;
};

AttachRoutes::AttachRoutes(Ports ports) : ports_(std::move(ports)) {}
AttachRoutes::~AttachRoutes() = default;

void AttachRoutes::stop() { sessions_.clear(); }

void AttachRoutes::end(Session* session) {
  // Not at once: it is one of its functions that calls.
  for (auto at = sessions_.begin(); at != sessions_.end(); ++at) {
    if (at->get() != session) continue;
    ports_.loop->post([kept = *at] {});
    sessions_.erase(at);
    return;
  }
}

void AttachRoutes::declare(Router& router) {
  router.add("GET", "/api/v1/jobs/{}/tasks/{}:attach", Role::user,
             [this](Call call) { attach(std::move(call)); });
}

void AttachRoutes::attach(Call call) {
  const JobRow* const row = job_for(call, *ports_.jobs, Deed::attend);
  if (row == nullptr) return;
  const auto ordinal = natural<std::uint32_t>(call.parts[1]);
  if (!ordinal || *ordinal >= row->tasks.size()) {
    return call.refuse(
        {Code::not_found,
         "job " + call.parts[0] + " has tasks 0 to " + std::to_string(row->tasks.size() - 1),
         {},
         {}});
  }
  if (role_of(*row->spec, *ordinal).launch.attended == Attended::no) {
    return call.refuse({Code::conflict,
                        "nobody can sit at job " + call.parts[0],
                        {},
                        "tutti run starts jobs that somebody sits at; tutti logs -f shows others"});
  }
  net::Duplex duplex = call.upgrade(attach_protocol);
  if (!duplex.open()) return;
  const auto session = std::make_shared<Session>(*this, TaskId{row->id, *ordinal}, call.user.token,
                                                 std::move(duplex));
  sessions_.insert(session);
  session->start();
}

}  // namespace tutti
