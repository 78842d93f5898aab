/// Makes answers of a server fit to be shown to strangers: names become pseudonyms, the same one
/// wherever a name stands, and what is not known to be harmless is left out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "format/json.h"
#include "format/value.h"

namespace tutti {

class Pseudonyms {
 public:
  enum class Named : std::uint8_t { user, job, queue, node, resource };

  /// An answer of the API, of whose things "name" is the name.
  std::string redacted(const Value& answer, Named named);

 private:
  /// "job-3"; of a queue each part: "queue-1/queue-2".
  std::string of(Named kind, std::string_view name);
  std::string of_part(Named kind, std::string_view name);
  /// A sentence of the server's: its own words and numbers stay, names that were met are replaced,
  /// all else is "[...]".
  std::string sentence(std::string_view text) const;
  std::string word(std::string_view word) const;

  void write(JsonWriter& json, const Value& value, Named named);
  void write_member(JsonWriter& json, const Value::Member& member, Named named);
  void write_amounts(JsonWriter& json, const Value& amounts);
  void write_names(JsonWriter& json, const Value& names, Named named);

  std::array<std::size_t, 5> counts_{};  ///< By kind.
  std::map<std::pair<Named, std::string>, std::string, std::less<>> known_;
  std::map<std::string, std::string, std::less<>> words_;  ///< What sentences may name.
};

}  // namespace tutti
