#include "api/metrics.h"

#include <dirent.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace tutti {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\\' || letter == '"') out += '\\';
    letter == '\n' ? out += "\\n" : out += letter;
  }
  return out;
}

std::string file_text(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

/// The fields of /proc/self/stat from the third one, "state", which follows the program's name.
std::vector<double> stat_fields() {
  const std::string text = file_text("/proc/self/stat");
  std::istringstream rest(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::vector<double> fields;
  for (std::string word; rest >> word;) fields.push_back(std::atof(word.c_str()));
  return fields;
}

std::size_t open_files() {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  std::size_t count = 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  constexpr std::size_t others = 3;  // "." and "..", and the folder itself.
  return count - std::min(count, others);
}

/// Seconds since the epoch at which this machine was started.
double boot_time() {
  std::istringstream lines(file_text("/proc/stat"));
  for (std::string word; lines >> word;) {
    double time = 0;
    if (word == "btime" && lines >> time) return time;
  }
  return 0;
}

}  // namespace

void Histogram::add(Duration took) {
  const auto* const bound = std::ranges::lower_bound(bounds, took.in_seconds());
  ++buckets_[static_cast<std::size_t>(bound - bounds.begin())];
  ++count_;
  sum_ = sum_ + took;
}

MetricsText& MetricsText::family(std::string_view name, std::string_view type,
                                 std::string_view help) {
  name_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  return *this;
}

void MetricsText::line(std::string_view ending, Labels labels, double value) {
  text_.append(name_).append(ending);
  char before = '{';
  for (const auto& [name, content] : labels) {
    text_ += fmt::format("{}{}=\"{}\"", std::exchange(before, ','), name, escaped(content));
  }
  text_ += fmt::format("{} {}\n", before == ',' ? "}" : "", value);
}

MetricsText& MetricsText::sample(Labels labels, double value) {
  line("", labels, value);
  return *this;
}

MetricsText& MetricsText::histogram(const Histogram& figures) {
  double seen = 0;
  for (std::size_t at = 0; at < Histogram::bounds.size(); ++at) {
    seen += static_cast<double>(figures.in_bucket(at));
    line("_bucket", {{"le", fmt::format("{}", Histogram::bounds[at])}}, seen);
  }
  line("_bucket", {{"le", "+Inf"}}, static_cast<double>(figures.count()));
  line("_sum", {}, figures.sum_seconds());
  line("_count", {}, static_cast<double>(figures.count()));
  return *this;
}

void write_process(MetricsText& text) {
  // Positions behind the program's name, as proc(5) counts them less three.
  constexpr std::size_t user_time = 11;
  constexpr std::size_t system_time = 12;
  constexpr std::size_t start_time = 19;
  constexpr std::size_t virtual_bytes = 20;
  constexpr std::size_t resident_pages = 21;
  const std::vector<double> stat = stat_fields();
  if (stat.size() <= resident_pages) return;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  text.family("process_cpu_seconds_total", "counter", "Processor time of the server.")
      .sample((stat[user_time] + stat[system_time]) / ticks)
      .family("process_start_time_seconds", "gauge", "When it started, since the epoch.")
      .sample(boot_time() + stat[start_time] / ticks)
      .family("process_virtual_memory_bytes", "gauge", "Its address space.")
      .sample(stat[virtual_bytes])
      .family("process_resident_memory_bytes", "gauge", "Its memory.")
      .sample(stat[resident_pages] * page)
      .family("process_open_fds", "gauge", "Files and sockets that it has open.")
      .sample(static_cast<double>(open_files()))
      .family("process_max_fds", "gauge", "Those that it may have open.")
      .sample(static_cast<double>(files.rlim_cur));
}

}  // namespace tutti
