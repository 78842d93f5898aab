#include "backend/kubernetes/plugin_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "backend/local/system.h"

namespace tutti {
namespace {

constexpr std::size_t mounted_file_max = std::size_t{16} << 20U;
constexpr std::size_t plugin_output_max = std::size_t{1} << 20U;

/// Our own variables, and those of the order in their place.
std::vector<std::string> plugin_environment(const PluginOrder& order) {
  std::vector<std::string> out = order.environment;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view own(*at);
    const std::string_view name = own.substr(0, own.find('=') + 1);
    const auto same = [&](const std::string& given) { return given.starts_with(name); };
    if (std::ranges::none_of(order.environment, same)) out.emplace_back(own);
  }
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// A program in a process group of its own, or errno.
int spawn_plugin(const PluginOrder& order, int output, int errors, pid_t& pid) {
  std::vector<std::string> arguments{order.command};
  arguments.insert(arguments.end(), order.arguments.begin(), order.arguments.end());
  std::vector<std::string> environment = plugin_environment(order);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, 1);
  ::posix_spawn_file_actions_adddup2(&actions, errors, 2);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  sigset_t signals;
  sigemptyset(&signals);
  ::posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  ::posix_spawnattr_setsigdefault(&attributes, &signals);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = ::posix_spawnp(&pid, order.command.c_str(), &actions, &attributes,
                                   pointers_to(arguments).data(), pointers_to(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

class PluginProcess final : public Underway {
 public:
  PluginProcess(net::EventLoop& loop, const PluginOrder& order, PluginDone done)
      : loop_(loop), done_(std::move(done)) {
    if (auto started = start(order); !started) {
      failure_ = std::move(started).error();
      timer_ = loop_.after({}, [this] { finish(fail(failure_)); });
      return;
    }
    timer_ = loop_.after(order.time_max, [this] {
      end_.timed_out = true;
      collect();
    });
  }
  PluginProcess(const PluginProcess&) = delete;
  PluginProcess& operator=(const PluginProcess&) = delete;
  ~PluginProcess() override { reap(); }

 private:
  struct Stream {
    Descriptor pipe;
    std::string* text = nullptr;
    net::Watch watch;
  };

  Result<void> start(const PluginOrder& order) {
    std::array<Pipe, 2> pipes;
    for (Pipe& pipe : pipes) pipe = TRY(make_pipe());
    if (const int error = spawn_plugin(order, pipes[0].write.get(), pipes[1].write.get(), pid_)) {
      pid_ = 0;
      return fail(system_error(order.command, "run it", error));
    }
    process_ = open_process(pid_);
    ended_ = TRY(loop_.watch(process_.get(), [this] { collect(); }));
    ended_.want(/*readable=*/true, /*writable=*/false);
    const std::array<std::string*, 2> texts{&end_.output, &end_.errors};
    for (std::size_t at = 0; at < pipes.size(); ++at) {
      Stream& stream = streams_[at];
      stream.pipe = std::move(pipes[at].read);
      ::fcntl(stream.pipe.get(), F_SETFL, O_NONBLOCK);
      stream.text = texts[at];
      stream.watch = TRY(loop_.watch(stream.pipe.get(), [&stream] {
        if (!take(stream)) stream.watch.want(/*readable=*/false, /*writable=*/false);
      }));
      stream.watch.want(/*readable=*/true, /*writable=*/false);
    }
    return {};
  }

  /// Whatever has come; false at the end. What is beyond the limit is read and forgotten.
  static bool take(const Stream& stream) {
    std::array<char, 4096> buffer;
    for (;;) {
      const ssize_t got =
          uninterrupted([&] { return ::read(stream.pipe.get(), buffer.data(), buffer.size()); });
      if (got <= 0) return got < 0 && errno == EAGAIN;
      const std::size_t room = plugin_output_max - stream.text->size();
      stream.text->append(buffer.data(), std::min(room, static_cast<std::size_t>(got)));
    }
  }

  /// It has ended or its time has; what it left behind ends with it.
  void collect() {
    const int status = reap();
    for (const Stream& stream : streams_) take(stream);
    end_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    finish(std::move(end_));
  }

  int reap() {
    if (pid_ <= 0) return 0;
    ::kill(-pid_, SIGKILL);
    int status = 0;
    uninterrupted([&] { return ::waitpid(pid_, &status, 0); });
    pid_ = 0;
    return status;
  }

  void finish(Result<PluginEnd> result) {
    ended_ = net::Watch();
    timer_ = net::Timer();
    auto done = std::move(done_);
    done(std::move(result));
  }

  net::EventLoop& loop_;
  PluginDone done_;
  pid_t pid_ = 0;
  Descriptor process_;
  std::array<Stream, 2> streams_;
  PluginEnd end_;
  Error failure_;
  net::Watch ended_;
  net::Timer timer_;
};

}  // namespace

Result<std::string> read_mounted_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto refused = [&](int error) {
    Error out = system_error(path, "read it", error);
    if (error == ENOENT) out.code = Code::not_found;
    return fail(std::move(out));
  };
  if (!file.valid()) return refused(errno);
  std::string out;
  std::array<char, 16 << 10U> buffer;
  while (out.size() <= mounted_file_max) {
    const ssize_t got =
        uninterrupted([&] { return ::read(file.get(), buffer.data(), buffer.size()); });
    if (got < 0) return refused(errno);
    if (got == 0) return out;
    out.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return fail({.code = Code::limit, .what = "it has more than 16 MiB", .where = path});
}

Ticket run_plugin_process(net::EventLoop& loop, const PluginOrder& order, PluginDone done) {
  return std::make_unique<PluginProcess>(loop, order, std::move(done));
}

Surroundings real_surroundings(net::EventLoop& loop) {
  return {
      .read_file = read_mounted_file,
      .run = [&loop](const PluginOrder& order,
                     PluginDone done) { return run_plugin_process(loop, order, std::move(done)); },
      .time_of_day = time_of_day};
}

}  // namespace tutti
