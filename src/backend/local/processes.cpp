#include "backend/local/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <map>
#include <set>

#include "backend/local/system.h"

namespace tutti {
namespace {

/// All of a small file of /proc, at most `most` bytes; empty where there is none.
std::string read_text(const std::string& path, std::size_t most = std::size_t{1} << 20U) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> piece{};
  while (file.valid() && text.size() < most) {
    const ssize_t got =
        uninterrupted([&] { return ::read(file.get(), piece.data(), piece.size()); });
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

/// The number at the start of `text`, which moves behind it and the blank after it.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  return number;
}

void skip_words(std::string_view& text, int words) {
  for (; words > 0; --words) text.remove_prefix(std::min(text.size(), text.find(' ') + 1));
}

std::string path_of(pid_t pid, std::string_view file) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(file);
}

/// Names of a folder of /proc that are numbers.
std::vector<pid_t> numbers_in(const std::string& path) {
  std::vector<pid_t> out;
  DIR* const listing = ::opendir(path.c_str());
  if (listing == nullptr) return out;
  while (const dirent* const entry = ::readdir(listing)) {
    std::string_view name = entry->d_name;
    const std::optional<pid_t> number = take_number<pid_t>(name);
    if (number && name.empty()) out.push_back(*number);
  }
  ::closedir(listing);
  return out;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> out;
  // Each thread has children of its own.
  for (const pid_t thread : numbers_in(path_of(parent, "task"))) {
    const std::string text =
        read_text(path_of(parent, "task/" + std::to_string(thread)) + "/children");
    std::string_view rest = text;
    while (const std::optional<pid_t> child = take_number<pid_t>(rest)) out.push_back(*child);
  }
  return out;
}

/// Does its environment say that it belongs to the task?
bool bears(pid_t pid, const std::string& mark) {
  return !mark.empty() && read_text(path_of(pid, "environ")).find(mark) != std::string::npos;
}

/// Every process of the machine that is not dead, by number.
std::map<pid_t, ProcessStat> all_processes() {
  std::map<pid_t, ProcessStat> out;
  for (const pid_t pid : numbers_in("/proc")) {
    const std::optional<ProcessStat> found = read_process(pid);
    if (found && !found->dead()) out.emplace(pid, *found);
  }
  return out;
}

void kill_exactly(const ProcessStat& process) {
  const Descriptor opened = open_process(process.pid);
  const std::optional<ProcessStat> now = read_process(process.pid);
  if (opened.valid() && now && now->start_ticks == process.start_ticks) {
    send_signal(opened, SIGKILL);
  }
}

}  // namespace

std::string boot_id() {
  std::string text = read_text("/proc/sys/kernel/random/boot_id");
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::optional<ProcessStat> read_process(pid_t pid) {
  const std::string text = read_text(path_of(pid, "stat"));
  // The name of the program stands in brackets, and may hold any character.
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos || name_end + 3 >= text.size()) return std::nullopt;
  ProcessStat out{.pid = pid, .state = text[name_end + 2]};
  std::string_view rest = std::string_view(text).substr(name_end + 4);
  const std::optional<pid_t> parent = take_number<pid_t>(rest);
  skip_words(rest, 17);
  const auto start = take_number<std::uint64_t>(rest);
  if (!parent || !start) return std::nullopt;
  out.parent = *parent;
  out.start_ticks = *start;
  return out;
}

std::uint64_t out_of_memory_kills() {
  const std::string text = read_text("/proc/vmstat");
  constexpr std::string_view name = "\noom_kill ";
  const std::size_t at = text.find(name);
  if (at == std::string::npos) return 0;
  std::string_view rest = std::string_view(text).substr(at + name.size());
  return take_number<std::uint64_t>(rest).value_or(0);
}

void signal_descendants(pid_t root, int signal) {
  std::set<pid_t> ours{root};
  std::vector<pid_t> next = children_of(root);
  while (!next.empty()) {
    const pid_t pid = next.back();
    next.pop_back();
    const Descriptor opened = open_process(pid);
    const std::optional<ProcessStat> found = read_process(pid);
    if (!opened.valid() || !found || !ours.contains(found->parent)) continue;
    if (!ours.insert(pid).second) continue;
    const std::vector<pid_t> below = children_of(pid);
    next.insert(next.end(), below.begin(), below.end());
    send_signal(opened, signal);
  }
}

std::size_t kill_remains(const TaskIdentity& identity) {
  if (identity.boot != boot_id()) return 0;
  const std::map<pid_t, ProcessStat> all = all_processes();
  std::set<pid_t> doomed;
  for (const auto& [pid, process] : all) {
    const bool first = pid == identity.pid && process.start_ticks == identity.start_ticks;
    if (first || bears(pid, identity.mark)) doomed.insert(pid);
  }
  for (std::size_t before = 0; before != doomed.size();) {
    before = doomed.size();
    for (const auto& [pid, process] : all) {
      if (doomed.contains(process.parent)) doomed.insert(pid);
    }
  }
  for (const pid_t pid : doomed) kill_exactly(all.at(pid));
  return doomed.size();
}

}  // namespace tutti
