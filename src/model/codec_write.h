/// Writes a struct as JSON from its list of fields; what equals the default is left out. Private to
/// model/. Linear.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "format/json.h"
#include "format/text.h"
#include "model/codec_fields.h"

namespace tutti::codec {

struct AnyField {
  void operator()(std::string_view, auto) {}
};

/// A struct with a list of fields.
template <class T>
concept Described = requires(AnyField& archive) { fields(archive, Of<T>{}); };

/// An enumeration with words.
template <class T>
concept Worded = requires(T value) {
  last_of(Of<T>{});
  to_text(value);
};

class Writer {
 public:
  explicit Writer(JsonWriter& json) : json_(json) {}

  /// The fields of a struct, into an object that is open.
  template <Described T>
  void members(const T& value) {
    [[maybe_unused]] static const T defaults{};  // g++ 12 overlooks its use below.
    const auto member = [&](std::string_view name, auto pointer) {
      if (value.*pointer == defaults.*pointer) return;
      json_.key(name);
      write(value.*pointer);
    };
    fields(member, Of<T>{});
  }

  template <Described T>
  void write(const T& value) {
    json_.begin_object();
    members(value);
    json_.end_object();
  }

  template <Worded T>
  void write(T value) {
    json_.value(to_text(value));
  }

  template <std::integral T>
  void write(T number) {
    json_.value(number);
  }

  template <class Tag, class Rep>
  void write(Index<Tag, Rep> index) {
    json_.value(index.value());
  }

  template <class T>
  void write(const std::vector<T>& items) {
    json_.begin_list();
    for (const T& item : items) write(item);
    json_.end_list();
  }

  template <class T>
  void write(const std::shared_ptr<const T>& value) {
    CHECK(value != nullptr);
    write(*value);
  }

  void write(Duration length) { json_.value(length.us); }
  void write(const AttributeExpression& expression) { write(expression.text()); }

  /// JSON holds no NUL and nothing but UTF-8, but names from drivers may: {"hex":"ff00"}.
  void write(const std::string& text);
  /// A map, or a list where a key cannot be one.
  void write(const Labels& labels);
  void write(const DeviceSet& devices);
  /// A type that equals that of the device before is left out.
  void write(const std::vector<DeviceSpec>& devices);

 private:
  JsonWriter& json_;
};

/// Can JSON hold it as text?
inline bool plain(std::string_view text) {
  return !first_invalid_utf8(text) && text.find('\0') == std::string_view::npos;
}

}  // namespace tutti::codec
