/// The folder of all that a server keeps, and what of it is a secret.
#pragma once

#include <string>

#include "api/tokens.h"
#include "base/result.h"
#include "store/secret_folder.h"

namespace tutti {

/// Where the state of a server lies who was not told: XDG, or the system's place for root.
std::string usual_data();

/// The folder, closed to others; made where there is none.
Result<SecretFolder> open_data(const std::string& path);

/// The administrator's token; made when the server starts for the first time.
Result<std::string> admin_token(const SecretFolder& data, const std::string& path);

/// Those that he gave away.
Result<Tokens> open_tokens(const SecretFolder& data, const std::string& path);

}  // namespace tutti
