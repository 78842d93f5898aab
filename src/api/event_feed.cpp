#include "api/event_feed.h"

#include <algorithm>
#include <utility>

#include "api/access.h"
#include "api/event_text.h"

namespace tutti {
namespace {

/// Bytes on their way to a reader of older rows: far fewer than what a stream is cut off for.
constexpr std::size_t late_most = 64 << 10U;
constexpr Duration for_the_late = Duration::milliseconds(5);
/// What a row costs that is kept, beside its text.
constexpr std::size_t row_bytes = 200;

std::string id_line(JournalRow row) { return "id: " + std::to_string(row) + "\n"; }

std::string message(std::string_view kind, std::string_view json) {
  std::string out = "event: ";
  out.append(kind).append("\ndata: ").append(json).append("\n\n");
  return out;
}

}  // namespace

bool EventFeed::Message::concerns(const Filter& filter) const {
  if (filter.job.valid() && filter.job != job) return false;
  return filter.queue.empty() || (spec && spec->queue == filter.queue);
}

bool EventFeed::Message::is_seen_by(const Reader& reader) const {
  const auto& bounds = reader.queues;
  return bounds.empty() || !spec || std::ranges::any_of(bounds, [&](const std::string& root) {
           return is_within(spec->queue, root);
         });
}

EventFeed::Text EventFeed::Row::matching(const Filter& filter, const Reader& reader) const {
  const auto wanted = [&](const Message& each) {
    return each.concerns(filter) && each.is_seen_by(reader);
  };
  const auto count = std::ranges::count_if(messages, wanted);
  if (count == std::ssize(messages)) return text;
  if (count == 0) return nullptr;
  std::string out;
  auto left = count;
  for (const Message& each : messages) {
    if (!wanted(each)) continue;
    out += id_line(--left == 0 ? row : row - 1);
    out.append(*text, each.begin, each.end - each.begin);
  }
  return std::make_shared<const std::string>(std::move(out));
}

EventFeed::EventFeed(net::EventLoop& loop, JobTable& jobs, JournalRow rows, Limits limits)
    : loop_(loop), jobs_(jobs), limits_(limits) {
  if (rows > limits_.rows) newest_ = complete_after_ = rows - limits_.rows;
  beating_ = loop_.after(limits_.heart_beat, [this] { beat(); });
}

void EventFeed::begin_after(JournalRow row) {
  complete_after_ = std::max(complete_after_, row);
  newest_ = std::max(newest_, row);
}

void EventFeed::apply(const Happening& happening) {
  if (happening.row <= complete_after_) return jobs_.apply(happening);
  std::vector<JobGlance> before;
  for (const JobId id : jobs_of(happening)) before.push_back(JobGlance::of(jobs_, id));
  Row row{.row = happening.row, .messages = {}, .text = {}};
  std::vector<std::string> bodies;
  const auto add = [&](std::string_view kind, const std::string& json, const JobRow* job) {
    bodies.push_back(message(kind, json));
    row.messages.push_back(
        {.job = job == nullptr ? JobId() : job->id, .spec = job == nullptr ? nullptr : job->spec});
  };
  if (const std::string node = node_event(jobs_, happening); !node.empty()) {
    add("node", node, nullptr);
  }
  jobs_.apply(happening);
  for (const JobGlance& was : before) {
    const std::string_view what = what_happened(was, JobGlance::of(jobs_, was.id));
    if (what.empty()) continue;
    const JobRow* const job = jobs_.find(was.id);
    add("job", job_event(jobs_, *job, happening, what), job);
  }
  newest_ = happening.row;
  if (bodies.empty()) return;
  std::string text;
  for (std::size_t at = 0; at < bodies.size(); ++at) {
    text += id_line(at + 1 == bodies.size() ? row.row : row.row - 1);
    row.messages[at].begin = text.size();
    text += bodies[at];
    row.messages[at].end = text.size();
  }
  row.text = std::make_shared<const std::string>(std::move(text));
  for (auto& [reader, hubs] : hubs_) publish(row, reader, hubs);
  keep(std::move(row));
}

void EventFeed::keep(Row row) {
  kept_bytes_ += row.text->size() + row_bytes;
  kept_.push_back(std::move(row));
  while (kept_.size() > limits_.rows || kept_bytes_ > limits_.bytes) {
    kept_bytes_ -= kept_.front().text->size() + row_bytes;
    complete_after_ = kept_.front().row;
    kept_.pop_front();
  }
}

void EventFeed::publish(const Row& row, const Reader& reader, Hubs& hubs) {
  if (hubs.empty()) return;
  const auto tell = [&](const Filter& filter) {
    const auto hub = hubs.find(filter);
    if (hub == hubs.end()) return;
    if (const Text text = row.matching(filter, reader)) hub->second.push(text);
  };
  std::vector<Filter> concerned{{}};
  for (const Message& each : row.messages) {
    if (!each.spec) continue;
    concerned.push_back({each.job, {}});
    concerned.push_back({JobId(), each.spec->queue});
    concerned.push_back({each.job, each.spec->queue});
  }
  std::ranges::sort(concerned);
  concerned.erase(std::ranges::unique(concerned).begin(), concerned.end());
  for (const Filter& filter : concerned) tell(filter);
}

void EventFeed::add(net::OpenStream reader, const Wish& wish) {
  Late late{std::move(reader), wish};
  if (knows(wish.after)) {
    late.stream.push(": events of tutti\nretry: 1000\n" + id_line(wish.after) + "\n");
  } else {
    late.wish.after = newest_;
    const std::string json = R"({"row":)" + std::to_string(newest_) +
                             R"(,"message":"what happened since is not kept any more",)"
                             R"("hint":"read GET /api/v1/jobs anew, and go on from here"})";
    late.stream.push("retry: 1000\n" + id_line(newest_) + message("reset", json));
  }
  if (catch_up(late)) return;
  late_.push_back(std::move(late));
  catch_up_soon();
}

bool EventFeed::catch_up(Late& late) {
  JournalRow& after = late.wish.after;
  if (after < complete_after_ && late.stream.open()) {
    return true;  // Slower than what is forgotten: the end of the stream tells him to come back.
  }
  auto row = std::ranges::upper_bound(kept_, after, {}, &Row::row);
  for (; row != kept_.end(); ++row) {
    if (!late.stream.open()) return true;
    if (late.stream.queued() > late_most) return false;
    if (const Text text = row->matching(late.wish.filter, late.wish.reader)) late.stream.push(text);
    after = row->row;
  }
  if (late.wish.follow) hubs_[late.wish.reader][late.wish.filter].add(std::move(late.stream));
  return true;
}

void EventFeed::catch_up_soon() {
  if (catching_up_.waiting()) return;
  catching_up_ = loop_.after(for_the_late, [this] {
    std::erase_if(late_, [&](Late& each) { return catch_up(each); });
    if (!late_.empty()) catch_up_soon();
  });
}

void EventFeed::beat() {
  const auto text = std::make_shared<const std::string>(": still here\n" + id_line(newest_) + "\n");
  if (good_) {
    std::erase_if(hubs_, [&](const auto& each) { return !good_(each.first.token); });
    std::erase_if(late_, [&](const Late& each) { return !good_(each.wish.reader.token); });
  }
  for (auto& [reader, hubs] : hubs_) {
    for (auto& [filter, hub] : hubs) hub.push(text);
    std::erase_if(hubs, [](const auto& each) { return each.second.size() == 0; });
  }
  std::erase_if(hubs_, [](const auto& each) { return each.second.empty(); });
  beating_ = loop_.after(limits_.heart_beat, [this] { beat(); });
}

std::size_t EventFeed::readers() const {
  std::size_t count = late_.size();
  for (const auto& [reader, hubs] : hubs_) {
    for (const auto& [filter, hub] : hubs) count += hub.size();
  }
  return count;
}

}  // namespace tutti
