/// Any bytes: parse_kubeconfig refuses them at a place in the file, or every context that it names
/// leads somewhere or says why not; merged with itself nothing is new.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/kubernetes/credentials.h"
#include "backend/kubernetes/kubeconfig.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  constexpr std::string_view version = "client.authentication.k8s.io/v1";
  if (const auto answer = parse_plugin_answer(text, version)) {
    CHECK(!answer->token.empty() || !answer->certificate.empty());
    CHECK(answer->certificate.empty() == answer->key.empty());
  }
  auto config = parse_kubeconfig(text, "/etc/config");
  if (!config) {
    CHECK(config.error().where.starts_with("/etc/config"), config.error().text());
    return 0;
  }
  for (const Kubeconfig::Context& context : config->contexts) {
    const auto access = access_of(*config, context.name);
    if (access) {
      CHECK(access->server.scheme != net::Url::Scheme::unix_socket);
    } else {
      CHECK(!access.error().what.empty());
    }
  }
  const std::size_t users = config->users.size();
  merge(*config, parse_kubeconfig(text, "/etc/config").value());
  CHECK(config->users.size() == users);
  return 0;
}
