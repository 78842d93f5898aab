#include "tutti/data_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "api/access.h"

namespace tutti {

std::string usual_data() {
  if (::geteuid() == 0) return "/var/lib/tutti";
  const char* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return std::string(state) + "/tutti";
  const char* const home = std::getenv("HOME");
  return std::string(home == nullptr ? "" : home) + "/.local/state/tutti";
}

Result<SecretFolder> open_data(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return fail(Error{Code::io, "cannot make the data folder: " + error.message(), path,
                      "--data FOLDER names another one"});
  }
  return SecretFolder::open(path);
}

Result<std::string> admin_token(const SecretFolder& data, const std::string& path) {
  constexpr std::string_view name = "admin.token";
  constexpr std::size_t shortest = 32;
  Result<std::string> known = data.get(name);
  if (known) {
    known->erase(known->find_last_not_of(" \n\r\t") + 1);
    if (known->size() >= shortest) return known;
    return fail(Error{Code::invalid, "there is no token in it", path + "/admin.token",
                      "remove it for a new one"});
  }
  if (known.error().code != Code::not_found) return known;
  std::string token = random_token();
  TRY(data.put(name, token + "\n"));
  return token;
}

Result<Tokens> open_tokens(const SecretFolder& data, const std::string& path) {
  const std::string name = "tokens";
  const Tokens::Keep keep = [data, name](std::string_view text) { return data.put(name, text); };
  const Result<std::string> known = data.get(name);
  if (!known && known.error().code == Code::not_found) return Tokens(keep);
  if (!known) return fail(known.error());
  Result<Tokens> tokens = Tokens::read(*known, keep);
  if (!tokens) return fail(std::move(tokens.error()).at(path + "/" + name));
  return tokens;
}

}  // namespace tutti
