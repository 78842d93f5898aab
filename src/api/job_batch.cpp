#include "api/job_batch.h"

#include <algorithm>
#include <utility>

#include "api/json_text.h"
#include "format/json.h"

namespace tutti {
namespace {

constexpr std::size_t batch_most = 250'000;
/// Lines that are read before others have their turn: some milliseconds.
constexpr std::size_t lines_at_once = 200;
constexpr std::size_t jobs_at_once = 2'000;
/// Parts of a batch that the engine has at a time: one that it makes durable, and the next.
constexpr std::size_t under_way_most = 2;

std::string id_line(std::size_t number, std::string_view id) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("line", number).member("id", id).end_object();
  return out;
}

std::string error_line(std::size_t number, const Error& error) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("line", number).key("error");
  write_error(json, error);
  json.end_object();
  return out;
}

}  // namespace

void JobBatch::start() {
  const std::string& body = call_.request.body;
  const auto lines = static_cast<std::size_t>(std::ranges::count(body, '\n'));
  if (lines > batch_most) {
    return call_.refuse({Code::limit,
                         std::to_string(lines) + " lines are more than one batch may have",
                         {},
                         "send at most " + std::to_string(batch_most) + " jobs at a time"});
  }
  go_on();
}

bool JobBatch::next_line(Line& line) {
  const std::string_view body = call_.request.body;
  while (at_ < body.size()) {
    const std::size_t end = std::min(body.find('\n', at_), body.size());
    line = {++number_, body.substr(at_, end - at_)};
    at_ = end + 1;
    if (line.text.find_first_not_of(" \t\r") != std::string_view::npos) return true;
  }
  return false;
}

void JobBatch::read(const Line& line) {
  Result<Outcome> outcome = ports_.read(call_, line);
  if (!outcome) {
    replies_.push_back({line.number, error_line(line.number, outcome.error())});
    return;
  }
  replies_.push_back({line.number, id_line(line.number, outcome->id)});
  if (!outcome->event) return;
  replies_.back().made = std::get<JobSubmitted>(*outcome->event).id;
  events_.push_back(*std::move(outcome->event));
  places_.push_back(std::move(outcome->place));
  to_fill_.push_back(replies_.size() - 1);
}

void JobBatch::go_on() {
  Line line;
  for (std::size_t count = 0; reading_ && count < lines_at_once; ++count) {
    blocked_ = events_.size() >= jobs_at_once && under_way_ >= under_way_most;
    if (blocked_) return;
    reading_ = !call_.answer.gone() && next_line(line);
    if (reading_) read(line);
    if (events_.size() >= jobs_at_once && under_way_ < under_way_most) send();
  }
  if (reading_) return ports_.loop->post([self = shared_from_this()] { self->go_on(); });
  if (!events_.empty()) send();
  answer_if_done();
}

void JobBatch::send() {
  ++under_way_;
  ports_.engine->send_each(
      std::exchange(events_, {}),
      [self = shared_from_this(), to_fill = std::exchange(to_fill_, {}),
       places = std::exchange(places_, {})](const EngineThread::Answers& answers) {
        for (std::size_t at = 0; at < answers.size(); ++at) {
          if (answers[at]) continue;
          Reply& reply = self->replies_[to_fill[at]];
          reply.text = error_line(reply.line, answers[at].error());
          reply.made = {};
        }
        --self->under_way_;
        if (std::exchange(self->blocked_, false)) return self->go_on();
        if (!self->reading_) self->answer_if_done();
      });
}

void JobBatch::answer_if_done() {
  if (under_way_ > 0) return;
  std::string body;
  for (const Reply& reply : replies_) {
    body.append(reply.text).append("\n");
    if (reply.made.valid()) call_.made.add(reply.made);
  }
  call_.send({.status = 200,
              .headers = {{"Content-Type", "application/x-ndjson"}},
              .body = std::move(body)});
}

}  // namespace tutti
