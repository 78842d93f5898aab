#include "sim/scenario_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "dialect/names.h"
#include "format/text.h"

namespace tutti {
namespace {

template <class Map>
std::string nearest(std::string_view name, const Map& known) {
  std::vector<std::string_view> names;
  for (const auto& entry : known) names.push_back(entry.first);
  return did_you_mean(name, names);
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool plain_name(std::string_view name) {
  const auto odd = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f ||
           std::string_view("#\"'*:,=[]{}").find(c) != std::string_view::npos;
  };
  return !name.empty() && std::ranges::none_of(name, odd);
}

Result<std::int64_t> count_of(const ScenarioWord& word, std::int64_t least) {
  constexpr std::int64_t most = 1'000'000'000;
  const auto value = number_in(word.text);
  if (value && *value >= least && *value <= most) return *value;
  return fail(
      wrong_at(word, fmt::format("{} is no number from {} to {}", quote(word.text), least, most)));
}

Result<std::vector<std::string>> ScenarioNames::nodes_of(const ScenarioWord& word) const {
  Result<std::vector<std::string>> names = expand_names(word.text, scenario_nodes);
  if (!names) return fail(wrong_at(word, names.error().what, names.error().hint));
  for (const std::string& name : *names) {
    if (nodes.contains(name)) continue;
    return fail(
        wrong_at(word, fmt::format("there is no node {}", quote(name)), nearest(name, nodes)));
  }
  return names;
}

Result<std::vector<JobId>> ScenarioNames::jobs_of(const ScenarioWord& word) const {
  Result<std::vector<std::string>> names = expand_names(word.text, scenario_jobs);
  if (!names) return fail(wrong_at(word, names.error().what, names.error().hint));
  std::vector<JobId> out;
  for (const std::string& name : *names) {
    const auto known = jobs.find(name);
    if (known == jobs.end()) {
      return fail(
          wrong_at(word, fmt::format("no job {} was submitted", quote(name)), nearest(name, jobs)));
    }
    out.push_back(known->second);
  }
  return out;
}

Result<std::vector<TaskId>> ScenarioNames::tasks_of(const ScenarioWord& word) const {
  // A name may have slashes of its own: the longest one that is a job wins.
  for (std::size_t end = word.text.rfind('/'); end != std::string_view::npos;
       end = end == 0 ? std::string_view::npos : word.text.rfind('/', end - 1)) {
    const auto known = jobs.find(word.text.substr(0, end));
    if (known != jobs.end()) return tasks_within(known->second, word.text.substr(end + 1), word);
  }
  const std::size_t slash = word.text.find('/');
  if (slash != std::string_view::npos && word.text.find('[') == std::string_view::npos) {
    // "trian/3": the job is what is wrong.
    TRY(jobs_of({word.text.substr(0, slash), word.place}));
  }
  std::vector<TaskId> out;
  for (const JobId job : TRY(jobs_of(word))) {
    for (std::size_t at = 0; at < roles[job.value()].size(); ++at) {
      out.push_back({job, static_cast<std::uint32_t>(at)});
    }
  }
  return out;
}

Result<std::vector<TaskId>> ScenarioNames::tasks_within(JobId job, std::string_view part,
                                                        const ScenarioWord& word) const {
  const std::vector<std::string>& tasks = roles[job.value()];
  const auto none = [&](std::int64_t number, std::size_t count, std::string_view of) {
    return fail(wrong_at(
        word, fmt::format("{} has {} tasks, counted from 0; there is no {}", of, count, number)));
  };
  std::vector<TaskId> out;
  if (const auto number = number_in(part)) {
    if (*number < 0 || static_cast<std::size_t>(*number) >= tasks.size()) {
      return none(*number, tasks.size(), word.text.substr(0, word.text.size() - part.size() - 1));
    }
    out.push_back({job, static_cast<std::uint32_t>(*number)});
    return out;
  }
  const std::size_t slash = part.rfind('/');
  const std::string_view role = part.substr(0, slash);
  for (std::size_t at = 0; at < tasks.size(); ++at) {
    if (tasks[at] == role) out.push_back({job, static_cast<std::uint32_t>(at)});
  }
  if (out.empty()) {
    const std::vector<std::string_view> known(tasks.begin(), tasks.end());
    const auto near = closest(role, known);
    return fail(wrong_at(word, fmt::format("the job has no role {}", quote(role)),
                         near ? fmt::format("did you mean {}?", quote(*near))
                              : "JOB, JOB/3, JOB/ROLE or JOB/ROLE/0"));
  }
  if (slash == std::string_view::npos) return out;
  const auto number = number_in(part.substr(slash + 1));
  if (number && *number >= 0 && static_cast<std::size_t>(*number) < out.size()) {
    return std::vector<TaskId>{out[static_cast<std::size_t>(*number)]};
  }
  return none(number.value_or(-1), out.size(), role);
}

Result<std::pair<std::string, std::uint16_t>> ScenarioNames::device_of(
    const ScenarioWord& word) const {
  const std::size_t slash = word.text.rfind('/');
  if (slash == std::string_view::npos) {
    return fail(wrong_at(word, quote(word.text) + " names no device", "write: NODE/3"));
  }
  const auto node = TRY(nodes_of({word.text.substr(0, slash), word.place}));
  const std::size_t devices = nodes.find(node.front())->second.devices.size();
  const auto number = number_in(word.text.substr(slash + 1));
  if (node.size() == 1 && number && *number >= 0 && static_cast<std::size_t>(*number) < devices) {
    return std::pair(node.front(), static_cast<std::uint16_t>(*number));
  }
  return fail(wrong_at(word, fmt::format("{} names no device: node {} has {}, counted from 0",
                                         quote(word.text), node.front(), devices)));
}

}  // namespace tutti
