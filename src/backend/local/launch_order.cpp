#include "backend/local/launch_order.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>

#include "backend/local/system.h"
#include "format/json.h"
#include "format/reader.h"
#include "format/text.h"

namespace tutti {
namespace {

struct LimitName {
  std::string_view name;
  int number;
};

/// In the order of their names.
constexpr std::array<LimitName, 12> limit_names{{{"as", RLIMIT_AS},
                                                 {"core", RLIMIT_CORE},
                                                 {"cpu", RLIMIT_CPU},
                                                 {"data", RLIMIT_DATA},
                                                 {"fsize", RLIMIT_FSIZE},
                                                 {"memlock", RLIMIT_MEMLOCK},
                                                 {"msgqueue", RLIMIT_MSGQUEUE},
                                                 {"nofile", RLIMIT_NOFILE},
                                                 {"nproc", RLIMIT_NPROC},
                                                 {"rtprio", RLIMIT_RTPRIO},
                                                 {"sigpending", RLIMIT_SIGPENDING},
                                                 {"stack", RLIMIT_STACK}}};

std::unexpected<Error> wrong(std::string what, std::string where, std::string hint = {}) {
  return fail({.code = Code::invalid,
               .what = std::move(what),
               .where = std::move(where),
               .hint = std::move(hint)});
}

/// Texts that a process can be given and that JSON can hold.
Result<void> check_texts(std::span<const std::string> texts, std::string_view field) {
  for (std::size_t at = 0; at < texts.size(); ++at) {
    const std::string where = std::string(field) + "[" + std::to_string(at) + "]";
    if (texts[at].find('\0') != std::string::npos) return wrong("it has a NUL in it", where);
    if (first_invalid_utf8(texts[at])) {
      return wrong("it is not UTF-8: " + quote(texts[at]), where,
                   "give it another way, for instance in a file");
    }
  }
  return {};
}

Result<void> check_environment(std::span<const std::string> environment) {
  TRY(check_texts(environment, "environment"));
  for (const std::string& each : environment) {
    const std::size_t sign = each.find('=');
    if (sign == 0 || sign == std::string::npos) {
      return wrong("not NAME=value: " + quote(each.substr(0, sign)), "environment");
    }
  }
  return {};
}

Result<void> check_folder(const std::string& path, std::string_view field) {
  if (!path.starts_with('/'))
    return wrong("not an absolute path: " + quote(path), std::string(field));
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) {
    return fail(system_error(path, "use it", errno).at(field));
  }
  if (!S_ISDIR(found.st_mode)) return wrong("not a folder: " + path, std::string(field));
  return {};
}

Result<void> check_output(const std::string& path, std::string_view field) {
  if (path.empty() || path == "/dev/null") return {};
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash + 1 == path.size()) {
    return wrong("not the absolute path of a file: " + quote(path), std::string(field));
  }
  return check_folder(path.substr(0, std::max<std::size_t>(slash, 1)), field);
}

Result<void> check_user(const std::optional<TaskUser>& user) {
  const uid_t mine = ::geteuid();
  if (!user || mine == 0 || (user->uid == mine && user->gid == ::getegid())) return {};
  return fail({.code = Code::unsupported,
               .what = "this server runs as user " + std::to_string(mine) +
                       " and can start nothing as user " + std::to_string(user->uid) + ", group " +
                       std::to_string(user->gid),
               .where = "user",
               .hint = "submit as the server's own user, or run the server as root"});
}

Result<void> check_numbers(const LaunchOrder& order) {
  for (const ProcessLimit& limit : order.limits) {
    if (!limit_number(limit.name)) {
      std::vector<std::string_view> names;
      for (const LimitName& known : limit_names) names.push_back(known.name);
      return wrong("there is no limit " + quote(limit.name), "limits",
                   did_you_mean(limit.name, names));
    }
    if (limit.hard >= 0 && (limit.soft < 0 || limit.soft > limit.hard)) {
      return wrong("its soft limit is above its hard one", "limits." + limit.name);
    }
  }
  if (order.stop.checkpoint_signal < 0 || order.stop.checkpoint_signal > SIGRTMAX) {
    return wrong("there is no signal " + std::to_string(order.stop.checkpoint_signal),
                 "stop.checkpoint_signal");
  }
  for (const unsigned cpu : order.cpus) {
    if (cpu >= CPU_SETSIZE) return wrong("there is no cpu " + std::to_string(cpu), "cpus");
  }
  if (order.output.bytes_max < 2) return wrong("it has room for nothing", "output.bytes_max");
  return {};
}

/// May this be executed, or why not?
Result<void> check_program(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return fail(system_error(path, "execute it", errno));
  if (S_ISDIR(found.st_mode)) return wrong("it is a folder, not a program", path);
  if (::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0) return {};
  return wrong("it may not be executed", path, "chmod +x " + path);
}

std::string_view search_path(const LaunchOrder& order) {
  for (const std::string_view each : order.environment) {
    if (each.starts_with("PATH=")) return each.substr(5);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

}  // namespace

LaunchOrder order_of(const LaunchSpec& spec) {
  LaunchOrder order;
  order.arguments = spec.command;
  if (!spec.directory.empty()) order.directory = spec.directory;
  order.output.output = spec.output;
  if (spec.attended != Attended::no) {
    order.terminal = TerminalOrder{
        .rows = spec.rows, .columns = spec.columns, .pipes = spec.attended == Attended::pipes};
  }
  if (spec.stop_signal == "TERM") {
    order.stop.term_grace = spec.grace;
    return order;
  }
  for (int number = 1; number < NSIG; ++number) {
    const char* const name = ::sigabbrev_np(number);
    if (name != nullptr && spec.stop_signal == name) order.stop.checkpoint_signal = number;
  }
  order.stop.checkpoint_grace = spec.grace;
  return order;
}

std::optional<int> limit_number(std::string_view name) {
  const auto* const found = std::ranges::find(limit_names, name, &LimitName::name);
  if (found == limit_names.end()) return std::nullopt;
  return found->number;
}

Result<std::string> program_of(const LaunchOrder& order) {
  if (order.arguments.empty() || order.arguments[0].empty()) {
    return wrong("there is no command", "arguments");
  }
  const std::string& name = order.arguments[0];
  if (name.find('/') != std::string::npos) {
    std::string path = name.starts_with('/') ? name : order.directory + "/" + name;
    TRY(check_program(path));
    return path;
  }
  const std::string_view all = search_path(order);
  for (std::string_view rest = all; !rest.empty();) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (!folder.starts_with('/')) continue;
    std::string path = std::string(folder) + "/" + name;
    if (check_program(path)) return path;
  }
  return fail({.code = Code::not_found,
               .what = "no program " + quote(name) + " in PATH",
               .where = "arguments[0]",
               .hint = "PATH of the task is " + std::string(all)});
}

Result<void> check_values(const LaunchOrder& order) {
  TRY(check_texts(order.arguments, "arguments"));
  TRY(check_environment(order.environment));
  TRY(check_user(order.user));
  return check_numbers(order);
}

Result<void> check_files(const LaunchOrder& order) {
  TRY(check_folder(order.directory, "directory"));
  TRY(check_output(order.output.output, "output"));
  TRY(check_output(order.output.errors, "errors"));
  TRY(program_of(order));
  return {};
}

// --- As text ------------------------------------------------------------------------------------

namespace {

void write_texts(JsonWriter& json, std::string_view name, std::span<const std::string> texts) {
  json.key(name).begin_list();
  for (const std::string& each : texts) json.value(each);
  json.end_list();
}

template <class Numbers>
void write_numbers(JsonWriter& json, std::string_view name, const Numbers& numbers) {
  json.key(name).begin_list();
  for (const auto each : numbers) json.value(each);
  json.end_list();
}

Result<ProcessLimit> decode_limit(Reader& r) {
  ProcessLimit limit;
  limit.name = TRY(r.required_text("name"));
  limit.soft = TRY(r.required_integer("soft", -1));
  limit.hard = TRY(r.required_integer("hard", -1));
  return limit;
}

Result<TaskUser> decode_user(Reader& r) {
  TaskUser user;
  user.uid = static_cast<uid_t>(TRY(r.required_integer("uid", 0, UINT32_MAX)));
  user.gid = static_cast<gid_t>(TRY(r.required_integer("gid", 0, UINT32_MAX)));
  for (const std::int64_t each : TRY(r.integers("groups", 0, UINT32_MAX))) {
    user.groups.push_back(static_cast<gid_t>(each));
  }
  return user;
}

Result<CgroupOrder> decode_cgroup(Reader& r) {
  return CgroupOrder{.root = TRY(r.required_text("root")),
                     .memory_bytes = TRY(r.optional_integer("memory_bytes", 0)),
                     .cpu_milli = TRY(r.optional_integer("cpu_milli", 1)),
                     .processes = TRY(r.optional_integer("processes", 1))};
}

Result<TerminalOrder> decode_terminal(Reader& r) {
  const std::int64_t rows = TRY(r.required_integer("rows", 0, UINT16_MAX));
  const std::int64_t columns = TRY(r.required_integer("columns", 0, UINT16_MAX));
  return TerminalOrder{.rows = static_cast<std::uint16_t>(rows),
                       .columns = static_cast<std::uint16_t>(columns),
                       .pipes = TRY(r.optional_boolean("pipes")).value_or(false)};
}

Result<PortRow> decode_ports(Reader& r) {
  const std::int64_t gang = TRY(r.required_integer("gang", 0, UINT32_MAX));
  const std::int64_t first = TRY(r.required_integer("first", 0, UINT16_MAX));
  const std::int64_t count = TRY(r.required_integer("count", 0, UINT16_MAX));
  return PortRow{.gang = static_cast<std::uint32_t>(gang),
                 .first = static_cast<std::uint16_t>(first),
                 .count = static_cast<std::uint16_t>(count)};
}

Result<std::optional<Duration>> decode_span(Reader& r, std::string_view name) {
  const std::optional<std::int64_t> us = TRY(r.optional_integer(name, 0));
  if (!us) return std::nullopt;
  return Duration{*us};
}

}  // namespace

Result<LaunchOrder> decode_launch_order(Reader& r) {
  LaunchOrder order;
  order.arguments = TRY(r.texts("arguments"));
  order.environment = TRY(r.texts("environment"));
  order.directory = TRY(r.required_text("directory"));
  order.output = {.output = TRY(r.required_text("output")),
                  .errors = TRY(r.required_text("errors")),
                  .bytes_max = TRY(r.required_integer("output_bytes_max", 2))};
  order.terminal = TRY(r.optional_object("terminal", decode_terminal));
  order.stop.checkpoint_signal = static_cast<int>(TRY(r.required_integer("checkpoint_signal")));
  order.stop.checkpoint_grace = {TRY(r.required_integer("checkpoint_grace_us", 0))};
  order.stop.term_grace = {TRY(r.required_integer("term_grace_us", 0))};
  order.time_max = TRY(decode_span(r, "time_max_us"));
  order.linger = TRY(decode_span(r, "linger_us"));
  order.user = TRY(r.optional_object("user", decode_user));
  order.umask = static_cast<mode_t>(TRY(r.required_integer("umask", 0, 0777)));
  order.limits = TRY(r.list("limits", decode_limit));
  order.nice = static_cast<int>(TRY(r.required_integer("nice", -20, 19)));
  for (const std::int64_t cpu : TRY(r.integers("cpus", 0, CPU_SETSIZE - 1))) {
    order.cpus.push_back(static_cast<unsigned>(cpu));
  }
  order.hosts = TRY(r.optional_text("hosts")).value_or("");
  order.ports = TRY(r.optional_object("ports", decode_ports));
  order.cgroup = TRY(r.optional_object("cgroup", decode_cgroup));
  order.barred = TRY(r.required_text("barred"));
  r.ignore_rest();  // What a newer version adds and this one need not know.
  return order;
}

std::string encode(const LaunchOrder& order) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  write_texts(json, "arguments", order.arguments);
  write_texts(json, "environment", order.environment);
  json.member("directory", order.directory);
  json.member("output", order.output.output).member("errors", order.output.errors);
  json.member("output_bytes_max", order.output.bytes_max);
  if (order.terminal) {
    json.key("terminal").begin_object().member("rows", order.terminal->rows);
    json.member("columns", order.terminal->columns);
    json.member("pipes", order.terminal->pipes).end_object();
  }
  json.member("checkpoint_signal", order.stop.checkpoint_signal);
  json.member("checkpoint_grace_us", order.stop.checkpoint_grace.us);
  json.member("term_grace_us", order.stop.term_grace.us);
  if (order.time_max) json.member("time_max_us", order.time_max->us);
  if (order.linger) json.member("linger_us", order.linger->us);
  if (order.user) {
    json.key("user").begin_object();
    json.member("uid", order.user->uid).member("gid", order.user->gid);
    write_numbers(json, "groups", order.user->groups);
    json.end_object();
  }
  json.member("umask", order.umask).member("nice", order.nice);
  json.key("limits").begin_list();
  for (const ProcessLimit& limit : order.limits) {
    json.begin_object().member("name", limit.name);
    json.member("soft", limit.soft).member("hard", limit.hard).end_object();
  }
  json.end_list();
  write_numbers(json, "cpus", order.cpus);
  if (!order.hosts.empty()) json.member("hosts", order.hosts);
  if (order.ports) {
    json.key("ports").begin_object().member("gang", order.ports->gang);
    json.member("first", order.ports->first).member("count", order.ports->count).end_object();
  }
  if (order.cgroup) {
    json.key("cgroup").begin_object().member("root", order.cgroup->root);
    if (order.cgroup->memory_bytes) json.member("memory_bytes", *order.cgroup->memory_bytes);
    if (order.cgroup->cpu_milli) json.member("cpu_milli", *order.cgroup->cpu_milli);
    if (order.cgroup->processes) json.member("processes", *order.cgroup->processes);
    json.end_object();
  }
  json.member("barred", order.barred).end_object();
  return out;
}

}  // namespace tutti
