#include "backend/local/cgroup.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

namespace tutti {
namespace {

/// One write each: the kernel takes what comes in one as one word.
Result<void> write_file(const OpenFolder& folder, const char* file, const std::string& text) {
  // The files of a real group are there already.
  const Descriptor opened = TRY(folder.open_file(file, O_WRONLY | O_CREAT));
  if (!write_all(opened.get(), text)) {
    return fail(system_error(folder.path_of(file), "write \"" + text + "\" to it", errno));
  }
  return {};
}

/// All of a file of the kernel's, whose size nobody knows before.
std::string read_file(const OpenFolder& folder, const char* file) {
  std::string text;
  const Result<Descriptor> opened = folder.open_file(file, O_RDONLY);
  while (opened) {
    char piece[4096];
    const ssize_t got = uninterrupted([&] { return ::read(opened->get(), piece, sizeof piece); });
    if (got <= 0) break;
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

Result<void> Cgroup::prepare(const std::string& root) {
  const OpenFolder folder = TRY(OpenFolder::open(root));
  const std::string there = read_file(folder, "cgroup.controllers");
  std::string wanted;
  for (const std::string_view each : {"cpu", "memory", "pids"}) {
    if ((" " + there).find(" " + std::string(each)) == std::string::npos) {
      return fail({.code = Code::unsupported,
                   .what = "no controller of " + std::string(each) + " is delegated",
                   .where = root,
                   .hint = "systemd: Delegate=cpu memory pids"});
    }
    wanted += (wanted.empty() ? "+" : " +") + std::string(each);
  }
  return write_file(folder, "cgroup.subtree_control", wanted);
}

Result<Cgroup> Cgroup::make(const CgroupOrder& order, const std::string& name) {
  OpenFolder root = TRY(OpenFolder::open(order.root));
  OpenFolder files = TRY(root.make(name, 0755));
  Cgroup made(std::move(root), name, std::move(files));
  constexpr std::int64_t period_us = 100'000;
  if (order.memory_bytes) {
    TRY(made.set("memory.max", std::to_string(*order.memory_bytes)));
    // One that outgrows its memory goes as a whole, not with one process missing.
    TRY(made.set("memory.oom.group", "1"));
  }
  if (order.cpu_milli) {
    TRY(made.set("cpu.max", std::to_string(*order.cpu_milli * period_us / 1000) + " " +
                                std::to_string(period_us)));
  }
  if (order.processes) TRY(made.set("pids.max", std::to_string(*order.processes)));
  return made;
}

Result<void> Cgroup::set(const char* file, const std::string& text) const {
  return write_file(files_, file, text);
}

Result<void> Cgroup::add(pid_t pid) const { return set("cgroup.procs", std::to_string(pid)); }

void Cgroup::kill() const { disregard(set("cgroup.kill", "1")); }

std::vector<pid_t> Cgroup::processes() const {
  std::vector<pid_t> out;
  const std::string text = read_file(files_, "cgroup.procs");
  for (const char *at = text.data(), *const end = at + text.size(); at < end;) {
    pid_t pid = 0;
    const auto [next, error] = std::from_chars(at, end, pid);
    if (error != std::errc()) break;
    out.push_back(pid);
    at = next + 1;
  }
  return out;
}

bool Cgroup::ran_out_of_memory() const {
  const std::string text = "\n" + read_file(files_, "memory.events");
  const std::size_t at = text.find("\noom_kill ");
  return at != std::string::npos && text[at + 10] != '0';
}

void Cgroup::remove() const { ::unlinkat(root_.get(), name_.c_str(), AT_REMOVEDIR); }

}  // namespace tutti
