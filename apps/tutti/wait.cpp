#include "tutti/wait.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string_view>
#include <thread>

#include "format/json.h"
#include "tutti/event_reader.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

constexpr auto before_asking_again = std::chrono::milliseconds(500);

/// The job, once it is over; none before that, and while the server cannot say.
Result<std::optional<Value>> over(const Client& client, const std::string& job) {
  const Result<std::string> answer = client.get("/api/v1/jobs/" + job);
  if (!answer && answer.error().code == Code::io) return std::nullopt;
  if (!answer) return fail(answer.error());
  Value row = TRY(parse_json(*answer));
  if (row.find("finished")->is(Kind::null)) return std::nullopt;
  return row;
}

}  // namespace

Result<int> await_end(const Client& client, const std::string& job) {
  std::optional<Value> row;
  const auto look = [&]() -> Result<bool> {
    row = TRY(over(client, job));
    return !row.has_value();
  };
  const EventTaker taker{.began = look,
                         .take = [&](const net::SseReader::Message&) { return look(); }};
  TRY(read_events(client, "job=" + job, taker));
  const std::string_view state = row->find("state")->text_value();
  if (state == "succeeded") return 0;
  const std::string_view reason = row->find("reason")->text_value();
  const std::string text =
      fmt::format("job {} {}{}{}\n", job, state == "failed" ? "failed" : "was cancelled",
                  reason.empty() ? "" : ": ", reason);
  std::fputs(text.c_str(), stderr);
  const Value* const code = row->find("exit_code");
  const std::int64_t own = code->is(Kind::integer) ? code->integer_value() : 0;
  return own > 0 && own < 256 ? static_cast<int>(own) : 1;
}

Result<void> print_output(const Client& client, const std::string& job) {
  const std::string target = "/api/v1/jobs/" + job + "/output?follow=true";
  std::size_t printed = 0;
  for (;;) {
    std::size_t again = printed;  // Bytes that come a second time after a lost connection.
    std::optional<Error> failed;
    const Result<void> end =
        client.follow({.target = target}, [&](std::string_view piece) -> Result<bool> {
          const std::size_t known = std::min(again, piece.size());
          again -= known;
          piece.remove_prefix(known);
          printed += piece.size();
          if (const Result<void> done = print(piece); !done) failed = done.error();
          return !failed;
        });
    if (failed) return fail(*failed);
    // A server that stops ends the stream as well.
    if (end && TRY(over(client, job))) return {};
    if (!end && end.error().code != Code::io) {
      std::fputs(fmt::format("note: {}\n", end.error().what).c_str(), stderr);
      return {};
    }
    std::this_thread::sleep_for(before_asking_again);
  }
}

}  // namespace tutti
