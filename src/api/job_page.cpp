#include "api/job_page.h"

#include <string_view>
#include <utility>

#include "api/job_access.h"
#include "api/query.h"
#include "format/json.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::size_t jobs_most = 1000;
/// Jobs that one request looks at: some milliseconds.
constexpr std::size_t looked_at_most = 50'000;

Result<JobStates> states_of(std::string_view words) {
  JobStates states;
  while (true) {
    const std::size_t comma = words.find(',');
    const std::string_view word = words.substr(0, comma);
    const auto state = job_state_of(word);
    if (!state) {
      return fail(Code::invalid, "no job is ever " + quote(word),
                  "states: pending running succeeded failed cancelled held; several by comma");
    }
    states.set(static_cast<std::size_t>(*state));
    if (comma == words.npos) return states;
    words.remove_prefix(comma + 1);
  }
}

}  // namespace

bool looks_like(std::string_view text, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == pattern.npos) return text == pattern;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  text.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  // The first place where the piece between two stars fits leaves most of the text to the rest.
  for (std::size_t next = pattern.find('*'); next != pattern.npos; next = pattern.find('*')) {
    const std::size_t at = text.find(pattern.substr(0, next));
    if (at == text.npos) return false;
    text.remove_prefix(at + next);
    pattern.remove_prefix(next + 1);
  }
  return text.ends_with(pattern);
}

Result<JobPage> JobPage::of(const net::Request& request) {
  TRY(only_known(request, {"state", "user", "queue", "name", "cursor", "limit", "fields"}));
  JobPage page;
  if (const auto words = request.query_value("state")) page.states = TRY(states_of(*words));
  page.user = request.query_value("user");
  page.queue = request.query_value("queue");
  page.name = request.query_value("name");
  if (const auto cursor = request.query_value("cursor")) {
    const auto below = natural(*cursor);
    if (!below) return fail(Code::invalid, "the cursor is none that this server gave");
    page.below = JobId(*below);
  }
  if (const auto limit = request.query_value("limit")) {
    const auto most = natural(*limit);
    if (!most || *most == 0 || *most > jobs_most) {
      return fail(Code::invalid, "limit is " + quote(*limit) + "; 1 to 1000 jobs fit on a page");
    }
    page.most = *most;
  }
  if (const auto fields = request.query_value("fields")) {
    page.fields = TRY(job_fields_of(*fields));
  }
  return page;
}

bool JobPage::wants(const JobRow& row) const {
  return (!user || row.spec->user == *user) && (!queue || row.spec->queue == *queue) &&
         (!name || looks_like(row.spec->name, *name));
}

std::string jobs_json(const JobTable& table, const JobPage& page, const User& reader) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("jobs").begin_list();
  std::size_t count = 0;
  std::size_t looked_at = 0;
  JobId last;
  bool more = false;
  table.each(page.states, page.below, [&](const JobRow& row) {
    const bool wanted = may(reader, *row.spec, Deed::see) && page.wants(row);
    more = looked_at == looked_at_most || (wanted && count == page.most);
    if (more) return false;
    ++looked_at;
    last = row.id;
    if (!wanted) return true;
    write_job(json, table, row, {page.fields, may(reader, *row.spec, Deed::read)});
    ++count;
    return true;
  });
  json.end_list().key("next");
  more ? json.value(std::to_string(last.value())) : json.null();
  json.end_object();
  return out;
}

}  // namespace tutti
