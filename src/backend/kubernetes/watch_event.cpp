#include "backend/kubernetes/watch_event.h"

#include <algorithm>
#include <array>
#include <utility>

#include "format/json_scan.h"

namespace tutti {
namespace {

using EventType = WatchEvent::Type;
constexpr std::array<std::pair<std::string_view, EventType>, 5> event_words{
    {{"\"ADDED\"", EventType::added},
     {"\"MODIFIED\"", EventType::modified},
     {"\"DELETED\"", EventType::deleted},
     {"\"BOOKMARK\"", EventType::bookmark},
     {"\"ERROR\"", EventType::error}}};

/// Empty where the piece is: what is absent is empty.
Result<std::string> text_or_empty(std::string_view piece) {
  if (piece.empty() || piece == "null") return std::string();
  return json_text(piece);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.front() != '0' &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<ObjectHead> read_object_head(std::string_view object) {
  ObjectHead out;
  JsonPieces metadata(TRY(json_member(object, "metadata")));
  for (;;) {
    const auto member = TRY(metadata.next_member());
    if (!member) break;
    const auto& [key, value] = *member;
    if (key == "name") out.name = TRY(text_or_empty(value));
    if (key == "namespace") out.space = TRY(text_or_empty(value));
    if (key == "uid") out.uid = TRY(text_or_empty(value));
    if (key == "resourceVersion") out.version = TRY(text_or_empty(value));
    if (key == "annotations" && value.find("k8s.io/initial-events-end") != value.npos) {
      out.ends_initial =
          TRY(text_or_empty(TRY(json_member(value, "k8s.io/initial-events-end")))) == "true";
    }
  }
  if (out.version.empty()) return fail(Code::invalid, "it has no resourceVersion");
  return out;
}

Result<WatchEvent> read_watch_event(std::string_view line) {
  WatchEvent out;
  std::string_view type;
  JsonPieces pieces(line);
  for (;;) {
    const auto member = TRY(pieces.next_member());
    if (!member) break;
    if (member->key == "type") type = member->value;
    if (member->key == "object") out.object = member->value;
  }
  const auto* const word =
      std::ranges::find(event_words, type, [](const auto& row) { return row.first; });
  if (word == event_words.end()) return fail(Code::invalid, "it is no event that is known");
  if (!out.object.starts_with('{')) return fail(Code::invalid, "the event has no object");
  out.type = word->second;
  return out;
}

Result<ListHead> read_list(std::string_view body,
                           const std::function<bool(std::string_view)>& take) {
  std::string_view items;
  std::string_view metadata;
  JsonPieces pieces(body);
  for (;;) {
    const auto member = TRY(pieces.next_member());
    if (!member) break;
    if (member->key == "items") items = member->value;
    if (member->key == "metadata") metadata = member->value;
  }
  ListHead out;
  out.version = TRY(text_or_empty(TRY(json_member(metadata, "resourceVersion"))));
  out.next = TRY(text_or_empty(TRY(json_member(metadata, "continue"))));
  if (out.version.empty()) return fail(Code::invalid, "the list has no resourceVersion");
  if (items.empty() || items == "null") return out;
  JsonPieces elements(items);
  for (;;) {
    const auto element = TRY(elements.next_element());
    if (!element || !take(*element)) return out;
  }
}

bool is_newer(std::string_view a, std::string_view b) {
  if (!is_number(a) || !is_number(b)) return true;
  return a.size() != b.size() ? a.size() > b.size() : a > b;
}

}  // namespace tutti
