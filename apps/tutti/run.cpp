/// tutti run: a command as a job, as if it ran here: its terminal, signals and exit code.
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "api/attach_frame.h"
#include "format/json.h"
#include "net/event_loop.h"
#include "tutti/client.h"
#include "tutti/commands.h"
#include "tutti/submit.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

constexpr Duration until_it_is_said = Duration::seconds(1);
constexpr std::size_t piece_bytes = std::size_t{16} << 10U;
constexpr std::size_t typed_most = std::size_t{256} << 10U;

struct RunOptions {
  ServerWords server;
  JobWords job;
};

/// Our terminal hands on what is typed as it is, for as long as this lives.
class RawTerminal {
 public:
  RawTerminal() : valid_(::tcgetattr(STDIN_FILENO, &before_) == 0) { enter(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal() {
    if (valid_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  /// Again, where a shell has set it otherwise meanwhile.
  void enter() const {
    termios raw = before_;
    ::cfmakeraw(&raw);
    if (valid_) ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }

 private:
  termios before_{};
  bool valid_;
};

std::optional<winsize> size_of_terminal() {
  winsize size{};
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return std::nullopt;
  return size;
}

bool at_terminal() { return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0; }

/// One sitting, from the upgrade to the end of the task.
class Sitting {
 public:
  Sitting(const Client& client, std::string job, bool terminal)
      : client_(client),
        job_(std::move(job)),
        terminal_(terminal),
        http_(loop_, client.settings()) {}

  Result<int> run(const sigset_t& signals) {
    if (terminal_) raw_.emplace();
    TRY(listen_to(signals));
    waiting_ = loop_.after(until_it_is_said, [this] {
      if (!begun_) tell(fmt::format("job {} waits; tutti explain {} says why", job_, job_));
    });
    call_ = http_.upgrade(client_.request_for("GET", "/api/v1/jobs/" + job_ + "/tasks/0:attach"),
                          attach_protocol, [this](auto got) { attach(std::move(got)); });
    loop_.run();
    raw_.reset();
    if (died_of_ != 0) return 128 + died_of_;
    return outcome_;
  }

 private:
  /// A line for a person, also while the terminal is raw.
  static void tell(const std::string& text) {
    if (::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "{}\r\n", text);
  }

  void finish(Result<int> outcome) {
    if (!finished_) outcome_ = std::move(outcome);
    finished_ = true;
    loop_.stop();
  }

  Result<void> listen_to(const sigset_t& signals) {
    signals_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    signal_watch_ = TRY(loop_.watch(signals_, [this] {
      signalfd_siginfo info{};
      if (::read(signals_, &info, sizeof info) > 0) hear(static_cast<int>(info.ssi_signo));
    }));
    signal_watch_.want(true, false);
    return {};
  }

  void hear(int signal) {
    if (signal == SIGWINCH || signal == SIGCONT) {
      if (raw_) raw_->enter();
      return send_size();
    }
    const bool hand_on = !terminal_ && signal != SIGHUP;
    if (hand_on && duplex_.open()) {
      duplex_.write(frame('s', std::to_string(signal)));
      return;
    }
    // The server cancels the job of who goes.
    died_of_ = signal;
    duplex_ = {};
    leaving_ = loop_.after(Duration::milliseconds(100), [this] { loop_.stop(); });
  }

  void attach(Result<net::Duplex> got) {
    if (!got) return finish(fail(std::move(got).error()));
    duplex_ = *std::move(got);
    duplex_.start([this](std::string_view bytes) { receive(bytes); },
                  [this](const Result<void>&) {
                    if (died_of_ != 0) return;
                    finish(fail(Code::io, "the server went away; job " + job_ + " goes on",
                                fmt::format("tutti job {}, tutti cancel {}", job_, job_)));
                  });
    duplex_.on_written([this] { want_input(); });
    send_size();
    struct stat input{};
    const bool is_file = ::fstat(STDIN_FILENO, &input) == 0 && S_ISREG(input.st_mode);
    if (!is_file) {
      auto watch = loop_.watch(STDIN_FILENO, [this] { read_input(); });
      watched_ = watch.has_value();
      if (watched_) input_watch_ = *std::move(watch);
    }
    want_input();
  }

  /// Reads only where that cannot block: when it is said that something is there, or from a file.
  void want_input() {
    if (input_ended_) return;
    watched_ ? input_watch_.want(duplex_.queued() < typed_most, false) : read_input();
  }

  void send_size() {
    const std::optional<winsize> size = terminal_ ? size_of_terminal() : std::nullopt;
    if (size) duplex_.write(frame('w', fmt::format("{} {}", size->ws_row, size->ws_col)));
  }

  /// What is there of our input.
  void read_input() {
    if (input_ended_ || !duplex_.open() || duplex_.queued() >= typed_most) return;
    std::array<char, piece_bytes> piece;  // NOLINT: filled by read.
    const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    input_ended_ = got <= 0;
    if (input_ended_) {
      input_watch_ = {};
      duplex_.write(frame('e', {}));
      return;
    }
    duplex_.write(frame('i', {piece.data(), static_cast<std::size_t>(got)}));
    if (watched_) want_input();
  }

  void receive(std::string_view bytes) {
    const Result<void> good = reader_.add(bytes, [this](char kind, std::string_view content) {
      if (kind == 'b') begun_ = true;
      if (kind == 'o' && !finished_) {
        const Result<void> shown = print(content);
        if (!shown) finish(fail(shown.error()));
      }
      if (kind == 'x') finish(exit_code_of(content));
    });
    if (!good) finish(fail(good.error()));
  }

  Result<int> exit_code_of(std::string_view text) const {
    const Value end = TRY(parse_json(text));
    if (const Value* const error = end.find("error")) {
      return fail(Code::conflict, std::string(error->text_value()),
                  fmt::format("job {} goes on: tutti job {}", job_, job_));
    }
    const auto code = static_cast<int>(end.find("exit_code")->integer_value());
    if (code != 0 || end.find("task")->text_value() == "succeeded") return code;
    // It never ran, or its end tells nothing: then the job's reason does.
    const Value* const reason = end.find("reason");
    const std::string_view why = reason->text_value();
    return fail(Code::conflict,
                fmt::format("job {} is {}{}{}", job_, end.find("state")->text_value(),
                            why.empty() ? "" : ": ", why));
  }

  const Client& client_;
  std::string job_;
  bool terminal_;
  std::optional<RawTerminal> raw_;
  net::EventLoop loop_;
  net::HttpClient http_;
  net::Call call_;
  net::Duplex duplex_;
  FrameReader reader_;
  int signals_ = -1;
  net::Watch signal_watch_;
  net::Watch input_watch_;
  net::Timer waiting_;
  net::Timer leaving_;
  bool watched_ = false;
  bool input_ended_ = false;
  bool begun_ = false;
  int died_of_ = 0;  ///< The signal that ended us.
  bool finished_ = false;
  Result<int> outcome_ = 0;
};

/// Blocked, so that they are read where they are waited for.
sigset_t block_signals() {
  sigset_t all;
  sigemptyset(&all);
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGWINCH, SIGCONT}) {
    sigaddset(&all, signal);
  }
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  return all;
}

Result<int> run_job(RunOptions options) {
  const Client client = TRY(Client::find(options.server));
  const bool terminal = at_terminal();
  JobWords& job = options.job;
  job.attended = terminal ? "terminal" : "pipes";
  const winsize size = size_of_terminal().value_or(winsize{24, 80, 0, 0});
  job.rows = size.ws_row;
  job.columns = size.ws_col;
  const char* const kind = std::getenv("TERM");
  if (terminal && kind != nullptr)
    job.variables.insert(job.variables.begin(), "TERM=" + std::string(kind));
  const sigset_t signals = block_signals();
  const Value ids = TRY(parse_json(TRY(client.post("/api/v1/jobs", TRY(job_text(job))))));
  Sitting sitting(client, std::string(ids.find("id")->text_value()), terminal);
  return sitting.run(signals);
}

}  // namespace

void declare_run(CLI::App& app, Run& run) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "Run a command as a job, and sit at it: a terminal, or a pipeline");
  command->add_option("COMMAND", options->job.command, "What runs, behind --")
      ->required()
      ->type_name("...");
  declare_job_words(*command, options->job);
  declare_server(*command, options->server);
  command->footer(
      "Where input and output are a terminal, the job has one. It is cancelled when this command\n"
      "ends before it. Exit code: the job's; 128 and the number of the signal that ended it.\n"
      "Examples:\n"
      "  tutti run --gpus 1 -- bash\n"
      "  tutti run --cpu 4 -- sort < names > sorted");
  command->callback([options, &run] {
    run = [options] {
      const Result<int> done = run_job(*options);
      return done ? *done : complain(done.error());
    };
  });
}

}  // namespace tutti
