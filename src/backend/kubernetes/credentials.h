/// What a request shows the server to be let in: from the kubeconfig itself, from files that
/// somebody renews, or from a plugin.
///
/// Files are read at most once a minute, and again when the server refused what they held; what
/// was read last goes on while they cannot be read. A plugin runs with a time limit, again when
/// what it gave has expired or was refused; one that fails is left alone for a while. No secret is
/// ever in an error; what a plugin prints to its standard error is.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kubernetes/kubeconfig.h"
#include "backend/kubernetes/wire.h"
#include "base/result.h"
#include "base/time.h"

namespace tutti {

struct Credential {
  std::string authorization;  ///< The header's value; empty: there is none.
  std::string certificate;    ///< PEM, with its key; empty: there is none.
  std::string key;
  friend bool operator==(const Credential&, const Credential&) = default;
};

/// A program that is to be run to its end.
struct PluginOrder {
  std::string command;  ///< A path, or looked for in PATH.
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  ///< "NAME=value", on top of our own.
  Duration time_max;
};

struct PluginEnd {
  int status = 0;  ///< Exit code, or 128 and the signal.
  bool timed_out = false;
  std::string output;
  std::string errors;
};

using PluginDone = std::move_only_function<void(Result<PluginEnd>)>;

/// What credentials need of the machine; plugin_process.h has the real ones.
struct Surroundings {
  ReadFile read_file;
  std::function<Ticket(const PluginOrder&, PluginDone)> run;
  std::function<Instant()> time_of_day;
};

class Credentials {
 public:
  using Done = std::move_only_function<void(Result<void>)>;

  Credentials(ClusterAccess access, Surroundings surroundings);

  /// Need nothing be read or run before the next request?
  bool fresh(Instant now) const;
  /// Gets them anew. `done` comes once, maybe inside this call; never when this is dropped first.
  /// REQUIRES: no other renewal is under way.
  void renew(Instant now, Done done);
  /// The server did not let it in.
  void refuse(Instant now);

  /// REQUIRES: was renewed.
  const Credential& credential() const { return credential_; }

  static constexpr Duration read_every = Duration::seconds(60);
  static constexpr Duration plugin_time_max = Duration::seconds(60);
  static constexpr Duration plugin_pause = Duration::seconds(10);

 private:
  Result<void> read_files();
  void run_plugin(Instant now, Done done);
  Result<void> take_plugin(const Result<PluginEnd>& end);
  std::string plugin_question() const;
  std::unexpected<Error> plugin_error(std::string what, std::string hint = {}) const;

  ClusterAccess access_;
  Surroundings surroundings_;
  Credential credential_;
  bool known_ = false;
  Instant renewed_;
  Instant expires_ = Instant::max();  ///< By the time of day.
  std::optional<Error> failed_;       ///< Of the last renewal.
  Ticket running_;
};

/// What a plugin printed. Errors show none of it.
struct PluginAnswer {
  std::string token;
  std::string certificate;
  std::string key;
  Instant expires = Instant::max();
};
Result<PluginAnswer> parse_plugin_answer(std::string_view text, std::string_view api_version);

}  // namespace tutti
