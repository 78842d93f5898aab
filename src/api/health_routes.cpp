#include "api/health_routes.h"

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "api/openapi.h"
#include "format/json.h"

namespace tutti {
namespace {

using net::Response;

/// What State knows of nodes and devices.
void write_fleet(MetricsText& text, const State& state) {
  const Fleet& fleet = state.fleet();
  std::map<std::string_view, double> nodes{{"ready", 0}, {"cordoned", 0}, {"lost", 0}};
  std::map<std::pair<std::string_view, std::string_view>, double> devices;
  for (std::size_t at = 0; at < fleet.size(); ++at) {
    const NodeIndex index(at);
    const Node& node = fleet.node(index);
    ++nodes[!node.present ? "lost" : node.open() ? "ready" : "cordoned"];
    for (std::uint32_t row = fleet.device_begin(index); row < fleet.device_end(index); ++row) {
      const Device& device = fleet.device(row);
      const std::string_view model = fleet.types()[device.type.value()].model;
      std::string_view is = state.usage().used_permille(row) > 0 ? "used" : "free";
      if (device.health != Health::online) is = to_text(device.health);
      if (!node.present) is = "lost";
      ++devices[{is, model}];
    }
  }
  text.family("tutti_nodes", "gauge", "Nodes by state.");
  for (const auto& [is, count] : nodes) text.sample({{"state", is}}, count);
  text.family("tutti_devices", "gauge", "Devices by state and model.");
  for (const auto& [key, count] : devices) {
    text.sample({{"state", key.first}, {"model", key.second}}, count);
  }
}

}  // namespace

void HealthRoutes::declare() {
  ports_.server->answer_anybody("/healthz",
                                [](Call call) { call.send(200, R"({"status":"ok"})"); });
  ports_.server->answer_anybody("/readyz", [this](Call call) { ready(std::move(call)); });
  ports_.server->answer_anybody("/api/v1/openapi.json",
                                [text = openapi_json()](Call call) { call.send(200, text); });
  ports_.server->router().add("GET", "/metrics", Role::viewer,
                              [this](Call call) { metrics(std::move(call)); });
  ports_.server->router().add("GET", "/api/v1/server", Role::operator_,
                              [text = server_json()](Call call) { call.send(200, text); });
}

std::string HealthRoutes::server_json() const {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("version", ports_.version).member("commit", ports_.commit);
  json.key("settings").begin_object();
  for (const auto& [name, value] : ports_.settings) json.member(name, value);
  json.end_object().end_object();
  return out;
}

void HealthRoutes::write_own(MetricsText& text) const {
  text.family("tutti_build_info", "gauge", "Always 1; the labels say what was built.")
      .sample({{"version", ports_.version}, {"commit", ports_.commit}}, 1);
  text.family("tutti_jobs", "gauge", "Jobs by state, those that are over included.");
  for (unsigned at = 0; at < job_states; ++at) {
    const auto state = static_cast<JobState>(at);
    text.sample({{"state", to_text(state)}}, static_cast<double>(ports_.jobs->count(state)));
  }
  text.family("tutti_journal_rows", "gauge", "Rows of the journal that readers know.")
      .sample(static_cast<double>(ports_.feed->newest()));
  if (ports_.checkpoints) {
    const Checkpoints made = ports_.checkpoints();
    text.family("tutti_checkpoint_rows", "gauge", "The row of which the newest checkpoint is.")
        .sample(static_cast<double>(made.newest));
    text.family("tutti_checkpoints_failed_total", "counter", "That could not be made.")
        .sample(static_cast<double>(made.failed));
  }
  text.family("tutti_event_readers", "gauge", "Who follows the events.")
      .sample(static_cast<double>(ports_.feed->readers()));
  const net::HttpServer::Counts counts = ports_.server->http().counts();
  text.family("tutti_http_connections", "gauge", "Connections that are open.")
      .sample(static_cast<double>(counts.connections));
  text.family("tutti_http_connections_refused_total", "counter", "For a limit on connections.")
      .sample(static_cast<double>(counts.turned_away));
  text.family("tutti_http_malformed_requests_total", "counter", "Refused before they had a route.")
      .sample(static_cast<double>(counts.refused));
  text.family("tutti_http_streams_cut_off_total", "counter", "Readers that fell behind.")
      .sample(static_cast<double>(counts.cut_off));
  ports_.server->meter().write(text);
  write_process(text);
}

void HealthRoutes::metrics(Call call) {
  if (call.user.is_bound() && call.user.role < Role::operator_) {
    return call.refuse(
        {Code::denied,
         "these figures count all queues, and " + call.user.who() + " is bound to some",
         {},
         "whoever is bound to no queue, operators and administrators may read them"});
  }
  ports_.engine->ask([this, call = std::move(call)](const State& state) mutable {
    MetricsText text;
    write_fleet(text, state);
    text.family("tutti_cycle_seconds", "histogram", "Time of a scheduling cycle.")
        .histogram(ports_.engine->cycles());
    text.family("tutti_journal_commit_seconds", "histogram", "Until a batch of events is durable.")
        .histogram(ports_.journal->commits());
    return [this, text = std::move(text), call = std::move(call)]() mutable {
      write_own(text);
      call.send({.status = 200,
                 .headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                 .body = text.text()});
    };
  });
}

void HealthRoutes::ready(Call call) {
  struct Waiting {
    std::optional<Call> call;
    net::Timer timer;
  };
  auto waiting = std::make_shared<Waiting>();
  waiting->call = std::move(call);
  const auto answer = [waiting](int status, std::string_view text) {
    if (waiting->call) waiting->call->send(status, std::string(text));
    waiting->call.reset();
  };
  waiting->timer = ports_.loop->after(
      ports_.patience, [answer] { answer(503, R"({"status":"the engine does not answer"})"); });
  ports_.engine->ask([answer, waiting](const State&) -> EngineThread::Work {
    return [answer, waiting] {
      answer(200, R"({"status":"ready"})");
      waiting->timer = net::Timer();
    };
  });
}

}  // namespace tutti
