#include "dialect/mentions.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "dialect/attribute_text.h"
#include "dialect/devices.h"
#include "dialect/tutti_read.h"
#include "format/quantity.h"

namespace tutti {
namespace {

constexpr std::int64_t memory_least = std::int64_t{1} << 20U;
constexpr std::int64_t cores_most = 1000;

/// Walks over values that a reader has taken already: what is odd in their form is passed over.
class Walk {
 public:
  std::vector<Mention> mentions() && { return std::move(out_); }

  void job(const Value& fields) {
    if (!fields.is(Kind::map)) return;
    for (const auto& [key, place, value] : fields.members()) {
      const std::string_view field = key;
      if (field == "queue") word(Mention::Of::queue, value);
      if (field == "together" || field == "near") word(Mention::Of::level, value);
      if (field == "gpus" || field == "npus") cards(value);
      if (field == "gpu" || field == "npu") request(value);
      if (field == "devices") each(value, &Walk::request);
      if (field == "affinity" || field == "anti_affinity" || field == "spread") {
        each(value, &Walk::neighbours);
      }
      amount(field, value);
      constexpr std::array<std::string_view, 4> parts{"gangs", "groups", "roles", "alternatives"};
      if (std::ranges::find(parts, field) != parts.end()) each(value, &Walk::job);
    }
  }

  void node(const Value& fields) {
    if (!fields.is(Kind::map)) return;
    for (const auto& [key, place, value] : fields.members()) {
      const std::string_view field = key;
      if (field == "gpus") cards(value);
      if (field == "devices") each(value, &Walk::device);
      if (field == "domains" && value.is(Kind::map)) {
        for (const Value::Member& domain : value.members()) {
          add({Mention::Of::label, domain.key, {}, domain.place.text()});
        }
      }
      amount(field, value);
    }
  }

  void each(const Value& list, void (Walk::*visit)(const Value&)) {
    if (!list.is(Kind::list)) return;
    for (const Value& item : list.items()) (this->*visit)(item);
  }

 private:
  void add(Mention mention) {
    if (!known_.emplace(mention.of, mention.name, mention.value).second) return;
    out_.push_back(std::move(mention));
  }

  void word(Mention::Of of, const Value& value) {
    if (value.is(Kind::text)) add({of, std::string(value.text_value()), {}, value.place().text()});
  }

  void cards(const Value& value) {
    for (const Value& item : one_or_many(value)) {
      const auto card = item.is(Kind::text) ? counted_model(item.text_value()) : std::nullopt;
      if (!card) continue;
      add({Mention::Of::model, std::string(card->model), {}, item.place().text()});
    }
  }

  /// A device that says its memory is described by itself, and may be called anything.
  void device(const Value& fields) {
    const Value* const model = fields.find("model");
    const Value* const memory = fields.find("memory");
    if (memory != nullptr) {
      amount("memory", *memory);
    } else if (model != nullptr) {
      word(Mention::Of::model, *model);
    }
  }

  void request(const Value& fields) {
    if (const Value* const memory = fields.find("memory")) amount("memory", *memory);
    const Value* const where = fields.find("where");
    if (where == nullptr || !where->is(Kind::text)) return;
    const std::string place = where->place().text();
    for (const AttributeTest& test : tests_of(where->text_value())) {
      const std::string name(test.name);
      if (test.values.empty()) add({Mention::Of::attribute, name, {}, place});
      for (const std::string_view value : test.values) {
        if (test.name == "model") {
          add({Mention::Of::model, std::string(value), {}, place});
        } else {
          add({Mention::Of::attribute, name, std::string(value), place});
        }
      }
    }
  }

  void neighbours(const Value& term) {
    for (const std::string_view key : {"within", "over"}) {
      if (const Value* const level = term.find(key)) word(Mention::Of::level, *level);
    }
  }

  void amount(std::string_view field, const Value& value) {
    if (field != "memory" && field != "cpu") return;
    const bool text = value.is(Kind::text);
    if (!text && !value.is(Kind::integer)) return;
    const std::string written(text ? std::string(value.text_value())
                                   : std::to_string(value.integer_value()));
    const auto number = parse_quantity(written);
    if (!number) return;
    const std::string place = value.place().text();
    const std::string digits = written.substr(0, written.find_first_not_of("0123456789."));
    if (field == "memory" && *number > 0 && *number < memory_least) {
      add({Mention::Of::amount, "memory " + written + " is " + std::to_string(*number) + " bytes",
           digits + "Gi", place});
    }
    if (field == "cpu" && *number > cores_most) {
      add({Mention::Of::amount, "cpu " + written + " is " + std::to_string(*number) + " cores",
           digits == written ? digits + "m" : digits, place});
    }
  }

  std::vector<Mention> out_;
  std::set<std::tuple<Mention::Of, std::string, std::string>> known_;
};

template <class Visit>
void each_entry(std::span<const Value> documents, std::string_view key, Visit visit) {
  for (const Value& document : documents) {
    const Value* const entries = document.find(key);
    if (entries == nullptr) continue;
    for (const Value& entry : one_or_many(*entries)) visit(entry);
  }
}

}  // namespace

std::vector<Mention> mentions_of_jobs(std::span<const Value> documents) {
  Walk walk;
  for (const std::string_view key : {"jobs", "job", "mix"}) {
    each_entry(documents, key, [&](const Value& entry) { walk.job(entry); });
  }
  return std::move(walk).mentions();
}

std::vector<Mention> mentions_of_job(const Value& job) {
  Walk walk;
  walk.job(job);
  return std::move(walk).mentions();
}

std::vector<Mention> mentions_of_nodes(std::span<const Value> documents) {
  Walk walk;
  each_entry(documents, "nodes", [&](const Value& entry) { walk.node(entry); });
  return std::move(walk).mentions();
}

std::string place_of(std::span<const Mention> mentions, Mention::Of of, std::string_view name) {
  const auto at = std::ranges::find_if(
      mentions, [&](const Mention& each) { return each.of == of && each.name == name; });
  return at == mentions.end() ? std::string() : at->where;
}

}  // namespace tutti
