/// tutti serve: joins the engine, its journal, this machine's tasks and the API.
#include <fmt/core.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/access.h"
#include "api/engine_thread.h"
#include "api/routes.h"
#include "backend/local/host.h"
#include "backend/local/job_order.h"
#include "backend/local/local_backend.h"
#include "backend/local/processes.h"
#include "backend/local/shield.h"
#include "backend/local/this_machine.h"
#include "generated/version.h"
#include "net/event_loop.h"
#include "sim/files.h"
#include "store/journal_file.h"
#include "store/secret_folder.h"
#include "tutti/client.h"
#include "tutti/data_folder.h"
#include "tutti/housekeeping.h"
#include "tutti/serve_options.h"
#include "tutti/shown.h"
#include "tutti/task_ports.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

/// For requests that are on their way when the server is told to end.
constexpr Duration grace = Duration::seconds(2);

constexpr Duration between_tidying = Duration::seconds(600);

Instant now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

/// What lives from the start of a server to its end, in the order in which it must.
class Service {
 public:
  static Result<int> run(const ServeOptions& options);

 private:
  explicit Service(const ServeOptions& options, std::string data)
      : options_(options), data_(std::move(data)), shown_(options.keeping) {}

  Result<void> open();
  Result<void> choose_policy();
  void note_what_is_open();
  std::string find_cgroup();
  Result<void> resume();
  Result<void> notice_restart();
  void watch_cards();
  Result<void> start();
  Result<void> listen();
  Result<int> run_until(const sigset_t& ends);
  void reload();
  void publish(const Happening& happening);
  void tidy_up();
  void declare_routes();
  Result<void> write_ready(const std::string& url, const std::string& socket) const;

  const ServeOptions& options_;
  std::string data_;
  Catalog catalog_;
  std::optional<RecipeFactory> factory_;
  std::optional<AuditLog> audit_;
  std::optional<Tokens> tokens_;
  std::optional<Access> access_;
  std::unique_ptr<JournalFile> journal_;
  std::optional<MeasuredJournal> measured_;
  std::optional<SecretFolder> secrets_;
  std::vector<std::string> remarks_;         ///< For who starts it.
  ProcessLimit files_ = raise_file_limit();  ///< As tasks are to have it.
  std::optional<LocalTasks> tasks_;
  std::optional<Assignments> assignments_;
  std::optional<LocalBackend> backend_;
  std::optional<Engine> engine_;
  ThisMachine machine_;
  std::unique_ptr<DeviceWatch> cards_;
  Shown shown_;
  net::EventLoop loop_;
  std::optional<EventFeed> feed_;
  std::optional<EngineThread> thread_;
  std::optional<AllRoutes> routes_;
  std::optional<Server> server_;
  net::Timer tidying_;
  std::optional<Housekeeping> housekeeping_;
  std::optional<Error> failure_;
};

/// What there is, or what is to be played instead.
Result<ThisMachine> look_at_machine(const ServeOptions& options, const Catalog& catalog) {
  MachineOptions wanted{.devices = options.devices, .node_file = {}, .node_file_name = {}};
  wanted.driver = options.nvml;
  wanted.detect_devices = options.fake_devices.empty() && options.nvml != "none";
  wanted.devices.insert(wanted.devices.end(), options.fake_devices.begin(),
                        options.fake_devices.end());
  if (!options.node_file.empty()) {
    wanted.node_file = TRY(read_file(options.node_file));
    wanted.node_file_name = options.node_file;
  }
  return this_machine(wanted, &catalog);
}

void complain_of_card(const std::string& card, const DeviceWatch::Change& change) {
  const std::string reason = change.reason.empty() ? "" : ": " + change.reason;
  fmt::print(stderr, "card {} ({}) is {}{}\n", change.ordinal, card, to_text(change.health),
             reason);
}

Result<void> Service::open() {
  const SecretFolder data = TRY(open_data(data_));
  // The lock of the journal comes first: nothing is touched that another server has.
  journal_ = TRY(JournalFile::open(data_ + "/journal.db"));
  catalog_ = TRY(Catalog::builtin());
  TRY(choose_policy());
  audit_.emplace(TRY(AuditLog::open(data_)));
  tokens_.emplace(TRY(open_tokens(data, data_)));
  access_.emplace(TRY(admin_token(data, data_)), ::geteuid(), &*tokens_);
  secrets_.emplace(TRY(SecretFolder::open(data_ + "/environments")));
  machine_ = TRY(look_at_machine(options_, catalog_));
  note_what_is_open();
  tasks_.emplace(TRY(LocalTasks::open({.folder = data_ + "/tasks"})));
  assignments_.emplace(Assignments::Options{
      .cpus = machine_.cpus, .is_free = is_port_free, .is_over = [this](const AttemptId& id) {
        return tasks_->is_over(id);
      }});
  for (const LocalTasks::Seen& each : tasks_->observe()) {
    if (LocalTasks::is_over(each.phase)) continue;
    if (const auto order = tasks_->order_of(each.id)) assignments_->keep(each.id, *order);
  }
  backend_.emplace(*tasks_, JobOrders([this](std::string_view name) { return secrets_->get(name); },
                                      {.data = data_, .cgroup = find_cgroup(), .limits = {files_}},
                                      *assignments_));
  return {};
}

/// The journal keeps it, for replays.
Result<void> Service::choose_policy() {
  PolicyRecipe recipe = TRY(load_policy(options_.policy));
  JournalFile::Decider decider{.version = fmt::format("{} ({})", version(), commit()),
                               .policy = recipe.name,
                               .policy_text = {}};
  if (!builtin_policy(options_.policy)) decider.policy_text = TRY(read_file(options_.policy));
  factory_.emplace(std::move(recipe));
  return journal_->note_decider(std::move(decider));
}

/// What tasks cannot be kept from; root's are other users', whom the system keeps away.
void Service::note_what_is_open() {
  if (::geteuid() == 0) return;
  const std::string missing = Shield::missing(data_);
  if (!missing.empty()) remarks_.push_back("not protected: " + missing);
}

/// Where the groups of tasks are; empty where they have none.
std::string Service::find_cgroup() {
  if (options_.cgroup == "none") return {};
  Result<std::string> found = options_.cgroup;
  if (options_.cgroup.empty()) {
    found = take_cgroup();
  } else if (const Result<void> ready = Cgroup::prepare(options_.cgroup); !ready) {
    found = fail(ready.error());
  }
  remarks_.push_back(found ? "limits:        memory and time of each task, in " + *found
                           : "no limits:     nothing holds tasks to the memory and time that they "
                             "asked for: " +
                                 found.error().what);
  return found.value_or("");
}

/// Has the machine started anew since the last server? Then nothing of what ran is left. That is
/// news of the node, and comes before what is heard of its tasks: so they find a place again.
Result<void> Service::notice_restart() {
  const SecretFolder data = TRY(SecretFolder::open(data_));
  const std::string boot = boot_id();
  const Result<std::string> known = data.get("boot");
  if (!known && known.error().code != Code::not_found) return fail(known.error());
  if (known && *known == boot) return {};
  std::vector<Event> lost;
  const Fleet& fleet = engine_->state().fleet();
  for (std::size_t at = 0; known && at < fleet.size(); ++at) {
    lost.emplace_back(NodeLost{fleet.node(NodeIndex(at)).name});
  }
  if (!lost.empty()) {
    engine_->follow(&shown_);
    const auto taken = engine_->take(lost, std::max(now(), engine_->state().now()));
    engine_->follow(nullptr);
    if (!taken) return fail(taken.error());
    remarks_.emplace_back("restarted:     this machine; what ran on it begins again");
  }
  return data.put("boot", boot);
}

/// State and what readers are shown, from the newest checkpoint and the journal.
Result<void> Service::resume() {
  feed_.emplace(loop_, shown_.jobs, journal_->rows());
  shown_.feed = &*feed_;
  Restored restored = TRY(restore(*journal_, checkpoints_of(data_), shown_, journal_->rows()));
  for (const std::string& remark : restored.remarks) {
    fmt::print(stderr, "a checkpoint is not used: {}\n", remark);
  }
  State& state = restored.state;
  keep_places(machine_, state);
  measured_.emplace(*journal_);
  engine_.emplace(*measured_, *backend_, *factory_);
  engine_->resume(std::move(state), journal_->rows());
  TRY(notice_restart());
  engine_->reconcile();
  return {};
}

/// What becomes of its cards goes to the engine.
void Service::watch_cards() {
  if (machine_.cards.empty()) return;
  const auto tell = [this](const DeviceWatch::Change& change) {
    complain_of_card(machine_.node.devices[change.ordinal].device.id, change);
  };
  cards_ = std::make_unique<DeviceWatch>(*machine_.driver, machine_.cards,
                                         DeviceWatch::Options{.tell = tell});
  backend_->follow(*cards_, machine_.node.name);
}

Result<void> Service::start() {
  watch_cards();
  EngineThread::Ports ports;
  ports.engine = &*engine_;
  ports.post = [this](EngineThread::Work work) { loop_.post(std::move(work)); };
  ports.publish = [this](const std::vector<Happening>& happened) {
    for (const Happening& each : happened) publish(each);
  };
  ports.reports_ready = backend_->wake_fd();
  ports.take_reports = [this] { return backend_->take_events(); };
  ports.keep_reports = [this](std::span<const Event> events) { backend_->acknowledge(events); };
  ports.clock = now;
  ports.failed = [this](const Error& error) {
    failure_ = error;
    loop_.stop();
  };
  thread_.emplace(std::move(ports));
  thread_->send({NodeReported{machine_.node}}, [](const EngineThread::Answers&) {});
  housekeeping_.emplace(
      Housekeeping::Options{
          .order = {.data = data_,
                    .keeping = options_.keeping,
                    .behind = std::min(checkpoint_behind, options_.checkpoint_every)},
          .every = options_.checkpoint_every,
          .history = options_.keep_history},
      Housekeeping::Ports{.loop = &loop_,
                          .engine = &*thread_,
                          .journal = &*journal_,
                          .newest = [this] { return feed_->newest(); },
                          .clock = now,
                          .forget = [this] { shown_.jobs.forget(now()); }});
  tidy_up();
  return {};
}

void Service::publish(const Happening& happening) {
  shown_.note(happening);
  for (const TaskMove& move : happening.moves) {
    if (!ended(move.phase)) continue;
    // A job that is over needs its variables no more.
    const JobRow* const job = shown_.jobs.find(move.task.job);
    if (job == nullptr || ended(job->state)) {
      secrets_->remove(std::to_string(move.task.job.value()));
    }
  }
}

/// Now and then removes the folders of jobs that are forgotten, on the thread that has them.
void Service::tidy_up() {
  thread_->ask([this](const State&) -> EngineThread::Work {
    return [this, over = backend_->over()]() mutable {
      std::erase_if(over, [&](const AttemptId& id) { return !shown_.jobs.forgot(id.task.job); });
      if (over.empty()) return;
      thread_->ask([this, over = std::move(over)](const State&) -> EngineThread::Work {
        backend_->forget(over);
        return [] {};
      });
    };
  });
  tidying_ = loop_.after(between_tidying, [this] { tidy_up(); });
}

void Service::declare_routes() {
  server_.emplace(
      loop_,
      Server::Ports{
          .who = [this](const net::Request& request) { return access_->who(request, now()); },
          .audit = &*audit_,
          .clock = now,
          .complain = [](const Error& error) { complain(error); },
          .requests_per_second = options_.requests_per_second});
  AllRoutes::Ports ports;
  ports.jobs.loop = &loop_;
  ports.jobs.engine = &*thread_;
  ports.jobs.jobs = &shown_.jobs;
  ports.jobs.requests = &shown_.requests;
  ports.jobs.catalog = &catalog_;
  ports.jobs.factory = &*factory_;
  ports.jobs.keep_environment = [this](std::string_view name, std::string_view variables) {
    return secrets_->put(name, variables);
  };
  if (::geteuid() != 0) ports.jobs.only_user = user_name(::geteuid());
  lend_tasks(*tasks_, ports);
  ports.feed = &*feed_;
  ports.jobs.jobs_per_user = options_.jobs_per_user;
  ports.tokens = &*tokens_;
  ports.audit = &*audit_;
  ports.meter = &shown_.meter;
  ports.clock = now;
  ports.journal = &*measured_;
  ports.version = std::string(version());
  ports.commit = std::string(commit());
  ports.settings = settings_of(options_);
  ports.checkpoints = [this] { return housekeeping_->checkpoints(); };
  routes_.emplace(*server_, ports);
}

/// Who has the port, where the system lets us see it.
Error with_holder(Error error, const std::string& address) {
  if (error.code != Code::conflict) return error;
  const std::string port = address.substr(address.rfind(':') + 1);
  const pid_t pid = listener_of(static_cast<std::uint16_t>(std::atoi(port.c_str())));
  if (pid == 0) return error;
  error.what += " by process " + std::to_string(pid);
  error.hint = "stop that one, or listen elsewhere: --listen 127.0.0.1:0 takes any free port";
  return error;
}

Result<void> Service::listen() {
  const std::string socket = options_.data.empty() ? usual_socket() : data_ + "/tutti.sock";
  const mode_t mode = ::geteuid() == 0 ? 0666 : 0600;
  const net::Url local =
      TRY(server_->http().listen({.address = "unix:" + socket, .socket_mode = mode}));
  net::ListenAt at{.address = options_.listen, .socket_mode = mode, .tls = {}};
  if (!options_.tls_cert.empty()) {
    at.tls = {.certificate = options_.tls_cert, .key = options_.tls_key, .client_ca = {}};
  }
  Result<net::Url> listening = server_->http().listen(at);
  if (!listening) return fail(with_holder(std::move(listening).error(), options_.listen));
  const net::Url& url = *listening;
  TRY(write_ready(url.server(), local.server()));
  notify_service("READY=1");
  std::string found;
  for (const std::string& remark : machine_.remarks) found += "found:         " + remark + "\n";
  for (const std::string& remark : remarks_) found += remark + "\n";
  return print(fmt::format(
      "tutti serves {} ({} cores, {}) at {} and {}\n{}"
      "submit a job:  tutti submit --name hello -- echo hello\n"
      "its data:      {}\n",
      machine_.node.name, machine_.node.capacity.front().amount / 1000,
      counted(machine_.node.devices.size(), "device"), url.server(), local.server(), found, data_));
}

/// Whole or not at all: who waits for the file reads it at once.
Result<void> Service::write_ready(const std::string& url, const std::string& socket) const {
  if (options_.ready_file.empty()) return {};
  return write_file(options_.ready_file, url + "\n" + socket + "\n");
}

Result<int> Service::run(const ServeOptions& options) {
  // Blocked before there are threads, so that none is interrupted.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  if (!options.tls_cert.empty()) sigaddset(&ends, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return fail(Code::invalid, "a certificate and its key go together",
                "--tls-cert FILE --tls-key FILE");
  }
  const std::string data =
      options.data.empty() ? usual_data()
                           : std::filesystem::absolute(options.data).lexically_normal().string();
  Service service(options, data);
  TRY(service.open());
  TRY(service.resume());
  TRY(service.start());
  service.declare_routes();
  TRY(service.listen());
  return service.run_until(ends);
}

/// Certificates that were renewed.
void Service::reload() {
  const Result<void> done = server_->http().reload_certificates();
  fmt::print(stderr, "{}", done ? "read the certificates anew\n" : done.error().text());
}

/// Serves until one of the signals comes, or the journal fails.
Result<int> Service::run_until(const sigset_t& ends) {
  const int signals = ::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  net::Watch watch = TRY(loop_.watch(signals, [this, signals] {
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) <= 0) return;
    if (info.ssi_signo == SIGHUP) return reload();
    notify_service("STOPPING=1");
    routes_->stop();
    server_->http().stop(grace, [this] { loop_.stop(); });
  }));
  watch.want(true, false);
  loop_.run();
  if (failure_) return fail(*failure_);
  housekeeping_.reset();
  thread_.reset();  // What was sent is finished and durable.
  return 0;
}

}  // namespace

Result<int> serve(const ServeOptions& options) { return Service::run(options); }

}  // namespace tutti
