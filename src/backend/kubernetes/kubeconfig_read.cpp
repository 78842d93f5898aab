// Kubeconfig files as text.
#include <fmt/core.h>

#include <filesystem>

#include "backend/kubernetes/kubeconfig.h"
#include "format/base64.h"
#include "format/reader.h"
#include "format/text.h"
#include "format/yaml.h"

namespace tutti {
namespace {

/// A value that no error shows.
Result<std::string> secret_text(Reader& r, std::string_view name) {
  const Value* const value = TRY(r.optional_value(name));
  if (value == nullptr || value->is(Kind::null)) return std::string();
  if (!value->is(Kind::text)) return fail(r.error(name, "expected text in quotes"));
  std::string out(value->text_value());
  if (out.find_first_of("\r\n") != out.npos) {
    return fail(r.error(name, "it has more than one line"));
  }
  return out;
}

Result<std::string> text_or_nothing(Reader& r, std::string_view name) {
  return TRY(r.optional_text(name)).value_or("");
}

/// A map, or an error that does not show what stands there instead.
Result<void> need_map(Reader& r, std::string_view name) {
  const Value* const value = TRY(r.optional_value(name));
  if (value == nullptr || value->is(Kind::map) || value->is(Kind::null)) return {};
  return fail(r.error(name, "expected a map"));
}

/// Reads one kubeconfig file; every reader's names are kubectl's.
class KubeconfigReader {
 public:
  explicit KubeconfigReader(const std::string& file)
      : file_(file), folder_(std::filesystem::path(file).parent_path()) {}

  Result<Kubeconfig> read(const Value& document) const {
    Reader r(document, "");
    Kubeconfig out;
    out.current = TRY(text_or_nothing(r, "current-context"));
    out.clusters = TRY(r.list("clusters", [&](Reader& entry) { return named_cluster(entry); }));
    out.users = TRY(r.list("users", [&](Reader& entry) { return named_user(entry); }));
    out.contexts = TRY(r.list("contexts", [&](Reader& entry) { return named_context(entry); }));
    TRY(check_names(out.clusters, "cluster"));
    TRY(check_names(out.users, "user"));
    TRY(check_names(out.contexts, "context"));
    return out;
  }

 private:
  std::string where(const Reader& r) const { return file_ + ":" + r.value().place().text(); }

  template <class Entry>
  static Result<void> check_names(const std::vector<Entry>& entries, std::string_view kind) {
    for (std::size_t at = 0; at < entries.size(); ++at) {
      for (std::size_t before = 0; before < at; ++before) {
        if (entries[before].name != entries[at].name) continue;
        // Its place already has the file in it.
        return fail({.code = Code::invalid,
                     .what = fmt::format("{} {} stands here twice", kind, quote(entries[at].name)),
                     .where = entries[at].where,
                     .hint = "the other one is at " + entries[before].where});
      }
    }
    return {};
  }

  std::string resolved(const std::string& path) const {
    if (path.empty() || path.starts_with('/') || folder_.empty()) return path;
    return (folder_ / path).lexically_normal();
  }

  Result<FileOrText> file_or_base64(Reader& r, std::string_view file, std::string_view data) const {
    FileOrText out;
    out.file = resolved(TRY(text_or_nothing(r, file)));
    const Value* const value = TRY(r.optional_value(data));
    if (value == nullptr || value->is(Kind::null)) return out;
    if (!value->is(Kind::text)) return fail(r.error(data, "expected text"));
    auto decoded = parse_base64(value->text_value());
    if (!decoded) {
      return fail(r.error(data, "it is no base64", "`base64 -w0 FILE` prints what belongs here"));
    }
    out.text = *std::move(decoded);
    return out;
  }

  Result<KubeCluster> named_cluster(Reader& entry) const {
    std::string name = TRY(entry.required_text("name"));
    TRY(need_map(entry, "cluster"));
    KubeCluster out = TRY(entry.optional_object("cluster", [&](Reader& r) {
                        return cluster(r);
                      })).value_or(KubeCluster{});
    out.name = std::move(name);
    out.where = where(entry);
    entry.ignore_rest();
    return out;
  }

  Result<KubeCluster> cluster(Reader& r) const {
    KubeCluster out;
    out.server = TRY(text_or_nothing(r, "server"));
    out.authority = TRY(file_or_base64(r, "certificate-authority", "certificate-authority-data"));
    out.tls_server_name = TRY(text_or_nothing(r, "tls-server-name"));
    out.unverified = TRY(r.optional_boolean("insecure-skip-tls-verify")).value_or(false);
    out.proxy = TRY(secret_text(r, "proxy-url"));
    if (out.unverified && !out.authority.empty()) {
      return fail(r.error("insecure-skip-tls-verify", "it goes with no certificate authority",
                          "leave it out: with the authority the server is checked"));
    }
    r.ignore_rest();
    return out;
  }

  Result<Kubeconfig::Context> named_context(Reader& entry) const {
    std::string name = TRY(entry.required_text("name"));
    const auto read_context = [&](Reader& r) -> Result<Kubeconfig::Context> {
      Kubeconfig::Context out;
      out.cluster = TRY(text_or_nothing(r, "cluster"));
      out.user = TRY(text_or_nothing(r, "user"));
      out.space = TRY(text_or_nothing(r, "namespace"));
      r.ignore_rest();
      return out;
    };
    Kubeconfig::Context out =
        TRY(entry.optional_object("context", read_context)).value_or(Kubeconfig::Context{});
    out.name = std::move(name);
    out.where = where(entry);
    entry.ignore_rest();
    return out;
  }

  Result<KubeUser> named_user(Reader& entry) const {
    std::string name = TRY(entry.required_text("name"));
    TRY(need_map(entry, "user"));
    KubeUser out =
        TRY(entry.optional_object("user", [&](Reader& r) { return user(r); })).value_or(KubeUser{});
    out.name = std::move(name);
    out.where = where(entry);
    entry.ignore_rest();
    return out;
  }

  Result<KubeUser> user(Reader& r) const {
    KubeUser out;
    out.token.text = TRY(secret_text(r, "token"));
    out.token.file = resolved(TRY(text_or_nothing(r, "tokenFile")));
    out.certificate = TRY(file_or_base64(r, "client-certificate", "client-certificate-data"));
    out.key = TRY(file_or_base64(r, "client-key", "client-key-data"));
    out.username = TRY(secret_text(r, "username"));
    out.password = TRY(secret_text(r, "password"));
    TRY(need_map(r, "exec"));
    out.plugin = TRY(r.optional_object("exec", [&](Reader& exec) { return plugin(exec); }));
    TRY(check_user(r, out));
    r.ignore_rest();
    return out;
  }

  static Result<void> check_user(Reader& r, const KubeUser& user) {
    if (TRY(r.optional_value("auth-provider")) != nullptr) {
      return fail(r.error("auth-provider", "Kubernetes has given these up",
                          "name the provider's plugin under exec"));
    }
    for (const std::string_view name : {"as", "as-uid", "as-groups", "as-user-extra"}) {
      if (TRY(r.optional_value(name)) == nullptr) continue;
      return fail(r.error(name, "acting for somebody else is not supported",
                          "name the user itself, with its own rights"));
    }
    if (!user.username.empty() && !user.token.empty()) {
      return fail(r.error("username", "there is a token, too", "leave one of them out"));
    }
    if (user.certificate.empty() != user.key.empty()) {
      return fail(r.error(user.key.empty() ? "client-certificate" : "client-key",
                          "a certificate and its key go together"));
    }
    return {};
  }

  Result<CredentialPlugin> plugin(Reader& r) const {
    CredentialPlugin out;
    out.api_version = TRY(text_or_nothing(r, "apiVersion"));
    if (out.api_version != "client.authentication.k8s.io/v1" &&
        out.api_version != "client.authentication.k8s.io/v1beta1") {
      return fail(r.error("apiVersion", quote(out.api_version) + " is not supported",
                          "write client.authentication.k8s.io/v1"));
    }
    out.command = TRY(r.required_text("command"));
    // As a shell has it: only what has no slash is looked for in PATH.
    if (out.command.find('/') != std::string::npos) out.command = resolved(out.command);
    out.arguments = TRY(r.texts("args"));
    TRY(read_environment(r, out));
    out.install_hint = TRY(text_or_nothing(r, "installHint"));
    out.wants_cluster = TRY(r.optional_boolean("provideClusterInfo")).value_or(false);
    if (TRY(text_or_nothing(r, "interactiveMode")) == "Always") {
      return fail(r.error("interactiveMode", "nobody sits at a terminal for it",
                          "use a plugin that needs nobody"));
    }
    r.ignore_rest();
    return out;
  }

  static Result<void> read_environment(Reader& r, CredentialPlugin& out) {
    const auto variable = [](Reader& entry) -> Result<std::pair<std::string, std::string>> {
      std::string name = TRY(entry.required_text("name"));
      std::string value = TRY(secret_text(entry, "value"));
      entry.ignore_rest();
      return std::pair(std::move(name), std::move(value));
    };
    out.environment = TRY(r.list("env", variable));
    return {};
  }

  const std::string& file_;
  std::filesystem::path folder_;
};

}  // namespace

Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& file) {
  auto documents = parse_yaml(text);
  if (!documents) return fail(std::move(documents).error().at(file));
  if (documents->size() > 1) {
    return fail({.code = Code::invalid, .what = "a kubeconfig is one document", .where = file});
  }
  if (documents->empty() || documents->front().is(Kind::null)) return Kubeconfig{};
  if (!documents->front().is(Kind::map)) {
    return fail({.code = Code::invalid,
                 .what = "this is no kubeconfig: expected a map",
                 .where = file,
                 .hint = "`kubectl config view --raw --minify` prints one"});
  }
  auto out = KubeconfigReader(file).read(documents->front());
  if (out || out.error().where.starts_with(file)) return out;
  return fail(std::move(out).error().at(file));
}

}  // namespace tutti
