#include "model/codec_write.h"

#include <algorithm>

namespace tutti::codec {

void Writer::write(const std::string& text) {
  constexpr std::string_view digits = "0123456789abcdef";
  if (plain(text)) {
    json_.value(text);
    return;
  }
  std::string hex;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    hex += {digits[byte >> 4U], digits[byte & 15U]};
  }
  json_.begin_object().member("hex", hex).end_object();
}

void Writer::write(const Labels& labels) {
  if (!std::ranges::all_of(labels.all(), [](const Label& label) { return plain(label.key); })) {
    write(std::vector<Label>(labels.all().begin(), labels.all().end()));
    return;
  }
  json_.begin_object();
  for (const Label& label : labels.all()) {
    json_.key(label.key);
    write(label.value);
  }
  json_.end_object();
}

void Writer::write(const DeviceSet& devices) {
  json_.begin_list();
  devices.each([&](unsigned ordinal) { json_.value(ordinal); });
  json_.end_list();
}

void Writer::write(const std::vector<DeviceSpec>& devices) {
  const DeviceType none;
  const DeviceType* before = &none;
  json_.begin_list();
  for (const DeviceSpec& spec : devices) {
    json_.begin_object();
    if (spec.type != *before) {
      json_.key("type");
      write(spec.type);
    }
    if (spec.device != Device()) {
      json_.key("device");
      write(spec.device);
    }
    json_.end_object();
    before = &spec.type;
  }
  json_.end_list();
}

}  // namespace tutti::codec
