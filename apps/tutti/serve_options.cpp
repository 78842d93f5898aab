#include "tutti/serve_options.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/quantity.h"
#include "format/text.h"
#include "policy/registry.h"
#include "tutti/commands.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

void declare_machine(CLI::App& serve, ServeOptions& options) {
  serve
      .add_option("--device", options.devices,
                  "Devices that are here beside those that are found: 2xAscend-910B2; may repeat")
      ->type_name("DEVICES")
      ->allow_extra_args(false);
  serve.add_option("--node-file", options.node_file, "A fleet file that describes this machine")
      ->type_name("FILE")
      ->take_last();
  serve
      .add_option("--fake-devices", options.fake_devices,
                  "Devices to act as if there were, instead of those that are: "
                  "8xA100-80G; may repeat")
      ->type_name("DEVICES")
      ->allow_extra_args(false);
  serve
      .add_option("--nvml", options.nvml,
                  "The library of NVIDIA's driver, or none; else libnvidia-ml.so.1")
      ->type_name("FILE")
      ->take_last();
  serve
      .add_option("--cgroup", options.cgroup,
                  "The control group to make those of tasks in, or none; else the one that systemd "
                  "gave to the server")
      ->type_name("FOLDER")
      ->take_last();
}

void declare_address(CLI::App& serve, ServeOptions& options) {
  serve.add_option("--listen", options.listen, "Address for HTTP; else 127.0.0.1:7070")
      ->type_name("ADDRESS:PORT")
      ->take_last();
  serve
      .add_option("--tls-cert", options.tls_cert,
                  "HTTPS there: the server's certificate, and those that lead to its authority, "
                  "in PEM; SIGHUP reads it anew")
      ->type_name("FILE")
      ->take_last();
  serve.add_option("--tls-key", options.tls_key, "Its key, in PEM")->type_name("FILE")->take_last();
  serve.add_option("--ready-file", options.ready_file, "Written once it can be asked: its URLs")
      ->type_name("FILE")
      ->take_last();
}

void declare_limits(CLI::App& serve, ServeOptions& options) {
  serve
      .add_option("--requests-per-second", options.requests_per_second,
                  "Of each user, and of each address that shows no token; else 500. The "
                  "administrator's are not counted")
      ->type_name("N")
      ->check(CLI::Range(1U, 1'000'000U))
      ->take_last();
  serve
      .add_option("--jobs-per-user", options.jobs_per_user,
                  "That may wait and run at a time; else 100000. The administrator may submit more")
      ->type_name("N")
      ->take_last();
}

/// A time as people write it, into `out`.
void time_option(CLI::App& serve, const std::string& name, Duration& out, const std::string& what) {
  serve
      .add_option_function<std::string>(
          name,
          [&out, name](const std::string& text) {
            const Result<Duration> time = parse_duration(text);
            if (!time) throw CLI::ValidationError(name, time.error().what);
            out = *time;
          },
          what)
      ->type_name("DURATION")
      ->take_last();
}

void declare_keeping(CLI::App& serve, ServeOptions& options) {
  time_option(serve, "--keep-ended", options.keeping.ended,
              "How long jobs are shown after their end, where they say nothing: 7d");
  serve
      .add_option("--keep-ended-most", options.keeping.most,
                  "So many of them at most; those that ended first go first: 1000000")
      ->type_name("N")
      ->take_last();
  time_option(serve, "--keep-history", options.keep_history,
              "How long the journal is kept behind what checkpoints stand for: 7d");
  serve
      .add_option("--checkpoint-every", options.checkpoint_every,
                  "Rows of the journal between two checkpoints, 0: none are made; 250000")
      ->type_name("N")
      ->take_last();
}

void declare_kubernetes(CLI::App& serve, KubernetesOptions& options) {
  CLI::Option* const wanted = serve.add_flag(
      "--kubernetes", options.wanted, "Place the pods of a cluster instead of running jobs here");
  serve.add_option("--kubeconfig", options.kubeconfig, "How to reach it; else as kubectl does")
      ->needs(wanted)
      ->type_name("FILE")
      ->take_last();
  serve.add_option("--context", options.context, "Of that file; else its current one")
      ->needs(wanted)
      ->type_name("NAME")
      ->take_last();
  serve
      .add_option("--scheduler-name", options.schedulers,
                  "Pods that name this scheduler are placed; else tutti; may repeat")
      ->needs(wanted)
      ->type_name("NAME")
      ->allow_extra_args(false);
}

std::string joined(const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return words.empty() ? "none" : join_names(views, views.size());
}

std::string is_given(const std::string& text) { return text.empty() ? "no" : "yes"; }

}  // namespace

HealthRoutes::Settings settings_of(const ServeOptions& options) {
  const ServeOptions usual;
  return {{"data", is_given(options.data)},
          {"listen", options.listen == usual.listen ? "as usual" : "elsewhere"},
          {"tls", is_given(options.tls_cert)},
          {"policy", builtin_policy(options.policy) ? options.policy : "a file"},
          {"devices", joined(options.devices)},
          {"fake_devices", joined(options.fake_devices)},
          {"node_file", is_given(options.node_file)},
          {"nvml", options.nvml == usual.nvml ? "as usual" : "other"},
          {"cgroup", options.cgroup == "none" ? "none" : is_given(options.cgroup)},
          {"requests_per_second", std::to_string(options.requests_per_second)},
          {"jobs_per_user", std::to_string(options.jobs_per_user)},
          {"keep_ended", duration_text(options.keeping.ended)},
          {"keep_ended_most", std::to_string(options.keeping.most)},
          {"keep_history", duration_text(options.keep_history)},
          {"checkpoint_every", std::to_string(options.checkpoint_every)}};
}

void declare_serve(CLI::App& app, Run& run) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", "Run jobs on this machine, for whoever asks");
  command->add_option("--data", options->data, "Folder of all that it keeps")
      ->type_name("FOLDER")
      ->take_last();
  declare_address(*command, *options);
  declare_machine(*command, *options);
  declare_limits(*command, *options);
  declare_keeping(*command, *options);
  declare_kubernetes(*command, options->kubernetes);
  command->add_option("--policy", options->policy, "A built-in policy or a file")
      ->type_name("NAME|FILE")
      ->take_last();
  command->footer(
      "Examples:\n"
      "  tutti serve\n"
      "  tutti serve --data /tmp/try --listen 127.0.0.1:0 --fake-devices 8xA100-80G\n"
      "  tutti serve --kubernetes --scheduler-name tutti --scheduler-name volcano");
  command->callback([options, &run] {
    run = [options] {
      const bool cluster = options->kubernetes.wanted;
      const Result<int> done = cluster ? serve_kubernetes(*options) : serve(*options);
      return done ? *done : complain(done.error());
    };
  });
}

}  // namespace tutti
