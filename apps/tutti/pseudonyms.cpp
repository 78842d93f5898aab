#include "tutti/pseudonyms.h"

#include <algorithm>
#include <utility>

namespace tutti {
namespace {

/// Of explanations and reasons (sched/explain.cpp, api/job_table.cpp): no name can be among them.
constexpr std::string_view own_words =
    " == x a across after alike all allows also an and another anew any are as asked at away "
    "be being both but by can cancelled cannot code cold come comes commonest cordoned cores "
    "could cpu core device devices does each ended ends even exited fail failed fails few "
    "find fits fitting fleet for free from GiB gang gone gpu grow grows had has have healthy "
    "held hold holds how if in is island it its job job's jobs killed labels lacks lane least "
    "limit limit's longer longest looked lost many may memory model more most must near "
    "nearest need needs never no node nodes none not numa of on once one online only or other "
    "others out over perhaps pending places placed pods port queue queue's ran reached "
    "resource rest retries room run running runs same search share signal so some spread "
    "start started starts still stopped storage stops such taint task tasks than that the "
    "them then there these they this those time to together tolerated tolerates too true "
    "uncordoned until use version wait waited waits was were what whatever where which whole "
    "will with would ";

bool among(std::string_view words, std::string_view word) {
  return words.find(" " + std::string(word) + " ") != words.npos;
}

/// "8", "0.5", "10Gi", "1500m".
bool is_amount(std::string_view word) {
  const std::size_t end = word.find_first_not_of("0123456789.");
  if (end == 0 || word.empty()) return false;
  if (std::ranges::count(word, '.') > 1) return false;  // An address, a version.
  return end == word.npos || among(" m k M G T Ki Mi Gi Ti Pi s ms ", word.substr(end));
}

constexpr std::string_view between_words = " \n\t:;,()";

/// Members that say nothing of anybody.
constexpr std::string_view harmless =
    " jobs queues nodes state priority tasks attempt exit_code submitted started finished present "
    "cordoned draining health mode used_permille weight running pending row at what job ";

}  // namespace

std::string Pseudonyms::of_part(Named kind, std::string_view name) {
  constexpr std::array<std::string_view, 5> words{"user", "job", "queue", "node", "resource"};
  const auto at = static_cast<std::size_t>(kind);
  const auto [known, fresh] = known_.try_emplace({kind, std::string(name)});
  if (fresh) known->second = std::string(words[at]) + "-" + std::to_string(++counts_[at]);
  words_.try_emplace(std::string(name), known->second);
  return known->second;
}

std::string Pseudonyms::of(Named kind, std::string_view name) {
  const std::size_t slash = kind == Named::queue ? name.rfind('/') : name.npos;
  if (slash == name.npos) return of_part(kind, name);
  std::string out = of(kind, name.substr(0, slash)) + "/" + of_part(kind, name.substr(slash + 1));
  words_.try_emplace(std::string(name), out);
  return out;
}

std::string Pseudonyms::word(std::string_view word) const {
  if (const auto known = words_.find(word); known != words_.end()) return known->second;
  if (among(own_words, word) || is_amount(word)) return std::string(word);
  // "train/3": a task of a job.
  const std::size_t slash = word.rfind('/');
  if (slash != word.npos && is_amount(word.substr(slash + 1))) {
    const auto job = words_.find(word.substr(0, slash));
    if (job != words_.end()) return job->second + std::string(word.substr(slash));
  }
  return "[...]";
}

std::string Pseudonyms::sentence(std::string_view text) const {
  // What follows is the system's, about somebody's files.
  constexpr std::string_view not_ours = "could not be started: ";
  if (const std::size_t at = text.find(not_ours); at != text.npos) {
    return sentence(text.substr(0, at)) + std::string(not_ours) + "[...]";
  }
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(between_words), text.size());
    if (end > 0) out += word(text.substr(0, end));
    if (end < text.size()) out += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void Pseudonyms::write_names(JsonWriter& json, const Value& names, Named named) {
  json.begin_list();
  for (const Value& each : names.items()) {
    if (!each.is(Kind::text)) {
      write(json, each, named);
      continue;
    }
    // "n0", or "n0/3": a device of it.
    const std::string_view text = each.text_value();
    const std::size_t slash = std::min(text.find('/'), text.size());
    json.value(of(Named::node, text.substr(0, slash)) + std::string(text.substr(slash)));
  }
  json.end_list();
}

void Pseudonyms::write_amounts(JsonWriter& json, const Value& amounts) {
  json.begin_object();
  for (const Value::Member& each : amounts.members()) {
    const bool usual = among(" cpu memory storage pods gpu ", each.key);
    json.member(usual ? each.key : of(Named::resource, each.key), each.value);
  }
  json.end_object();
}

void Pseudonyms::write_member(JsonWriter& json, const Value::Member& member, Named named) {
  const std::string& key = member.key;
  const Value& value = member.value;
  const bool is_text = value.is(Kind::text);
  const auto put = [&](const std::string& text) { json.member(key, text); };
  if (key == "name" && is_text) return put(of(named, value.text_value()));
  if (key == "user" && is_text) return put(of(Named::user, value.text_value()));
  if (key == "queue" && is_text) return put(of(Named::queue, value.text_value()));
  if (key == "node" && is_text) return put(of(Named::node, value.text_value()));
  if ((key == "reason" || key == "text") && is_text) return put(sentence(value.text_value()));
  if (key == "model" && is_text) {
    // What a card is called is no secret, and sentences speak of it.
    words_.try_emplace(std::string(value.text_value()), value.text_value());
    return put(std::string(value.text_value()));
  }
  if (key == "id" && named != Named::node) return put(std::string(value.text_value()));
  if (key == "nodes" || key == "devices") {
    json.key(key);
    return write_names(json, value, named);
  }
  if (among(" resources used limit guarantee ", key)) {
    json.key(key);
    return write_amounts(json, value);
  }
  if (!among(harmless, key)) return;
  json.key(key);
  write(json, value, named);
}

void Pseudonyms::write(JsonWriter& json, const Value& value, Named named) {
  if (value.is(Kind::map)) {
    json.begin_object();
    for (const Value::Member& each : value.members()) write_member(json, each, named);
    json.end_object();
  } else if (value.is(Kind::list)) {
    json.begin_list();
    for (const Value& each : value.items()) write(json, each, named);
    json.end_list();
  } else {
    json.value(value);
  }
}

std::string Pseudonyms::redacted(const Value& answer, Named named) {
  std::string out;
  JsonWriter json(out);
  write(json, answer, named);
  return out;
}

}  // namespace tutti
