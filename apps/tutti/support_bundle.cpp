/// tutti support-bundle: what those who help need to know, without what is nobody's business.
#include <fmt/core.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "format/json.h"
#include "generated/version.h"
#include "tutti/archive.h"
#include "tutti/client.h"
#include "tutti/commands.h"
#include "tutti/event_reader.h"
#include "tutti/pseudonyms.h"
#include "tutti/tables.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

constexpr std::size_t events_most = 2000;

/// Of this machine, on which the server usually runs.
std::string platform_text() {
  utsname about{};
  ::uname(&about);
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return fmt::format("client:  tutti {} ({})\nsystem:  {} {} {}\ncores:   {}\nmemory:  {} MiB\n",
                     version(), commit(), about.sysname, about.release, about.machine,
                     ::sysconf(_SC_NPROCESSORS_ONLN), pages * page >> 20U);
}

class Bundle {
 public:
  Bundle(Archive& to, const Client& client) : to_(to), client_(client) {}

  Result<void> fill();

 private:
  using Named = Pseudonyms::Named;

  Result<void> add(const std::string& name, const std::string& what, std::string_view text);
  /// What its own token may not see, or the server cannot say now, is left out.
  void leave_out(const std::string& name, const Error& why);
  Result<void> add_answer(const std::string& name, const std::string& what,
                          const std::string& target);
  Result<void> add_redacted(const std::string& name, const std::string& what,
                            const std::string& target, Named named);
  Result<void> add_explanations();
  Result<void> add_events();
  std::string read_me() const;

  Archive& to_;
  const Client& client_;
  Pseudonyms names_;
  std::string contents_;
  std::string left_out_;
};

Result<void> Bundle::add(const std::string& name, const std::string& what, std::string_view text) {
  contents_ += fmt::format("  {:18} {}\n", name, what);
  return to_.add_text("tutti-support/" + name, text);
}

void Bundle::leave_out(const std::string& name, const Error& why) {
  left_out_ += fmt::format("  {:18} {}\n", name,
                           why.code == Code::denied ? "the role of who made this may not see it"
                                                    : "the server could not say it");
}

Result<void> Bundle::add_answer(const std::string& name, const std::string& what,
                                const std::string& target) {
  const Result<std::string> answer = client_.get(target);
  if (answer) return add(name, what, *answer);
  leave_out(name, answer.error());
  return {};
}

Result<void> Bundle::add_redacted(const std::string& name, const std::string& what,
                                  const std::string& target, Named named) {
  const Result<std::string> answer = client_.get(target);
  if (answer) return add(name, what, names_.redacted(TRY(parse_json(*answer)), named) + "\n");
  leave_out(name, answer.error());
  return {};
}

Result<void> Bundle::add_explanations() {
  const auto page = client_.get("/api/v1/jobs?state=pending&limit=20&fields=id");
  if (!page) {
    leave_out("explanations.json", page.error());
    return {};
  }
  const Value waiting = TRY(parse_json(*page));
  std::string lines;
  for (const Value& job : waiting.find("jobs")->items()) {
    const auto answer = client_.get("/api/v1/jobs/" + text_of(job, "id") + "/explanation");
    if (!answer) continue;  // It has ended meanwhile.
    lines += names_.redacted(TRY(parse_json(*answer)), Named::job) + "\n";
  }
  return add("explanations.json", "why the newest 20 jobs that wait do so, one a line", lines);
}

Result<void> Bundle::add_events() {
  std::deque<std::string> lines;
  const EventTaker taker{
      .began = [] { return true; },
      .take = [&](const net::SseReader::Message& message) -> Result<bool> {
        const Named named = message.event == "node" ? Named::node : Named::job;
        if (message.event != "node" && message.event != "job") return true;
        lines.push_back(names_.redacted(TRY(parse_json(message.data)), named) + "\n");
        if (lines.size() > events_most) lines.pop_front();
        return true;
      }};
  if (const auto done = read_events(client_, "from=oldest&follow=false", taker); !done) {
    leave_out("events.json", done.error());
    return {};
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  return add("events.json",
             fmt::format("what happened last, {} events at most, one a line", events_most), text);
}

std::string Bundle::read_me() const {
  std::string out =
      "What a server of Tutti says of itself, for those who help.\n\n"
      "Names of users, jobs, queues and nodes are replaced, everywhere by the same word: user-1,\n"
      "job-1, queue-1, node-1. Commands, variables, folders, output, tokens and the audit log are\n"
      "not in it. In sentences, [...] stands for what could be a name.\n\n" +
      contents_;
  if (!left_out_.empty()) out += "\nLeft out:\n\n" + left_out_;
  return out;
}

Result<void> Bundle::fill() {
  // Only operators may ask that: others make no bundle.
  const std::string server = TRY(client_.get("/api/v1/server"));
  TRY(add("server.json", "version of the server, and how it was started", server));
  TRY(add("platform.txt", "the machine on which this was made", platform_text()));
  TRY(add_answer("metrics.txt", "GET /metrics", "/metrics"));
  TRY(add_answer("healthz.json", "GET /healthz: does the process live?", "/healthz"));
  TRY(add_answer("readyz.json", "GET /readyz: do its engine and journal answer?", "/readyz"));
  TRY(add_redacted("nodes.json", "nodes and their devices", "/api/v1/nodes", Named::node));
  TRY(add_redacted("queues.json", "queues, their limits and use", "/api/v1/queues", Named::queue));
  TRY(add_redacted("jobs.json", "the newest 1000 jobs", "/api/v1/jobs?limit=1000", Named::job));
  TRY(add_events());
  TRY(add_explanations());
  TRY(to_.add_text("tutti-support/README.txt", read_me()));
  return to_.finish();
}

struct SupportOptions {
  ServerWords server;
  std::string file = "tutti-support.tar";
};

Result<void> make_bundle(const SupportOptions& options) {
  const Client client = TRY(Client::find(options.server));
  Archive archive = TRY(Archive::create(options.file));
  if (auto done = Bundle(archive, client).fill(); !done) {
    ::unlink(options.file.c_str());
    return done;
  }
  return print(
      fmt::format("{}: how the server is and what it did, with other names for users, jobs, queues "
                  "and nodes\nlook at it before you send it:  tar -xf {}; its README.txt says what "
                  "is in it\n",
                  options.file, options.file));
}

}  // namespace

void declare_support_bundle(CLI::App& app, Run& run) {
  auto options = std::make_shared<SupportOptions>();
  CLI::App* command = app.add_subcommand(
      "support-bundle", "Write a file for those who help, with nothing secret in it");
  declare_server(*command, options->server);
  command->add_option("file", options->file, "A new file; else tutti-support.tar")
      ->type_name("FILE");
  command->footer("Example:\n  tutti support-bundle case-17.tar");
  on_call(*command, run, [options] { return make_bundle(*options); });
}

}  // namespace tutti
