/// Amounts, metadata and requests of Kubernetes objects.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/limits.h"
#include "dialect/kubernetes_read.h"
#include "dialect/tutti_read.h"
#include "format/text.h"
#include "model/resources.h"

namespace tutti {
namespace {

/// Requests; where one is not given its limit stands for it.
Result<ResourceList> read_container_resources(Reader& container) {
  const auto read = [](Reader& reader) -> Result<ResourceList> {
    reader.ignore_rest();
    ResourceList requests = TRY(read_amount_map(reader, "requests"));
    for (NamedAmount& limit : TRY(read_amount_map(reader, "limits"))) {
      const auto at = std::ranges::lower_bound(requests, limit.name, {}, &NamedAmount::name);
      if (at == requests.end() || at->name != limit.name) requests.insert(at, std::move(limit));
    }
    return requests;
  };
  return TRY(container.optional_object("resources", read)).value_or(ResourceList{});
}

struct Container {
  ResourceList resources;
  bool sidecar = false;  ///< An init container that never ends.
};

Result<Container> read_container(Reader& reader) {
  reader.ignore_rest();
  Container out;
  out.resources = TRY(read_container_resources(reader));
  out.sidecar = TRY(reader.optional_text("restartPolicy")).value_or("") == "Always";
  return out;
}

/// Days from 1970-01-01 of a date of the Gregorian calendar, counted from 1 March of year 0, so
/// that the leap day is the last of its year.
std::int64_t days_of(std::int64_t year, std::int64_t month, std::int64_t day) {
  const std::int64_t shifted = month <= 2 ? year - 1 : year;
  const std::int64_t from_march = (month + 9) % 12;
  const std::int64_t in_year = (153 * from_march + 2) / 5 + day - 1;
  return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + in_year - 719'468;
}

std::int64_t days_in(std::int64_t year, std::int64_t month) {
  if (month == 2) return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/// The number of `digits` digits at `at`, or -1.
std::int64_t digits_at(std::string_view text, std::size_t at, std::size_t digits) {
  std::int64_t value = 0;
  for (std::size_t each = at; each < at + digits; ++each) {
    if (each >= text.size() || text[each] < '0' || text[each] > '9') return -1;
    value = value * 10 + (text[each] - '0');
  }
  return value;
}

Result<std::string> read_owner(Reader& meta) {
  std::string out;
  const auto read = [&out](Reader& owner) -> Result<bool> {
    owner.ignore_rest();
    const bool controls = TRY(owner.optional_boolean("controller")).value_or(false);
    if (controls) {
      out = TRY(owner.required_text("kind")) + "/";
      out += TRY(owner.required_text("name"));
    }
    return controls;
  };
  TRY(meta.list("ownerReferences", read));
  return out;
}

}  // namespace

std::int64_t amount_in(const ResourceList& list, std::string_view name) {
  const auto at = std::ranges::lower_bound(list, name, {}, &NamedAmount::name);
  return at != list.end() && at->name == name ? at->amount : 0;
}

Result<ResourceList> sum_of(const ResourceList& a, const ResourceList& b) {
  ResourceList out = a;
  for (const NamedAmount& part : b) {
    const auto at = std::ranges::lower_bound(out, part.name, {}, &NamedAmount::name);
    if (at == out.end() || at->name != part.name) {
      out.insert(at, part);
      continue;
    }
    at->amount += part.amount;  // Both are at most 2^60.
    if (at->amount > limits::amount) {
      return fail(Code::limit, fmt::format("{} of all containers is more than 2^60", part.name));
    }
  }
  return out;
}

ResourceList largest_of(const ResourceList& a, const ResourceList& b) {
  ResourceList out = a;
  for (const NamedAmount& part : b) {
    const auto at = std::ranges::lower_bound(out, part.name, {}, &NamedAmount::name);
    if (at == out.end() || at->name != part.name) {
      out.insert(at, part);
    } else {
      at->amount = std::max(at->amount, part.amount);
    }
  }
  return out;
}

Result<PodRequests> read_requests(Reader& spec) {
  PodRequests out;
  ResourceList sidecars;
  ResourceList while_starting;
  for (const Container& init : TRY(spec.list("initContainers", read_container))) {
    // Init containers run one after the other, each beside the sidecars before it.
    const ResourceList beside = TRY(sum_of(init.resources, sidecars));
    while_starting = largest_of(while_starting, beside);
    if (!init.sidecar) continue;
    sidecars = beside;
    out.containers.push_back(init.resources);
  }
  ResourceList running = sidecars;
  for (Container& container : TRY(spec.list("containers", read_container))) {
    running = TRY(sum_of(running, container.resources));
    out.containers.push_back(std::move(container.resources));
  }
  out.total = largest_of(running, while_starting);
  // What is asked for the pod as a whole replaces the sum of its containers.
  for (NamedAmount& whole : TRY(read_container_resources(spec))) {
    const auto at = std::ranges::lower_bound(out.total, whole.name, {}, &NamedAmount::name);
    if (at != out.total.end() && at->name == whole.name) {
      at->amount = whole.amount;
    } else {
      out.total.insert(at, std::move(whole));
    }
  }
  const ResourceList overhead = TRY(read_amount_map(spec, "overhead"));
  out.total = TRY(sum_of(out.total, overhead));
  return out;
}

Result<ObjectMeta> read_meta(Reader& object) {
  const auto read = [](Reader& meta) -> Result<ObjectMeta> {
    meta.ignore_rest();
    ObjectMeta out;
    out.name = TRY(read_name(meta, "name"));
    out.space = TRY(meta.optional_text("namespace")).value_or("");
    out.uid = TRY(meta.optional_text("uid")).value_or("");
    out.labels = TRY(read_labels(meta, "labels"));
    out.annotations = TRY(read_labels(meta, "annotations"));
    out.owner = TRY(read_owner(meta));
    out.terminating = TRY(meta.optional_text("deletionTimestamp")).has_value();
    if (const auto created = TRY(meta.optional_text("creationTimestamp"))) {
      Result<Instant> at = parse_timestamp(*created);
      if (!at) return fail(meta.error("creationTimestamp", at.error().what, at.error().hint));
      out.created = *at;
    }
    return out;
  };
  return object.required_object("metadata", read);
}

Result<Instant> parse_timestamp(std::string_view text) {
  const auto wrong = [&] {
    return fail(Code::invalid, fmt::format("{} is no time", quote(text)),
                "for example: 2024-02-29T12:00:00Z");
  };
  const std::int64_t year = digits_at(text, 0, 4);
  const std::int64_t month = digits_at(text, 5, 2);
  const std::int64_t day = digits_at(text, 8, 2);
  const std::int64_t hour = digits_at(text, 11, 2);
  const std::int64_t minute = digits_at(text, 14, 2);
  const std::int64_t second = digits_at(text, 17, 2);
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':' || !text.ends_with('Z')) {
    return wrong();
  }
  const bool dated =
      year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= days_in(year, month);
  if (!dated || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) {
    return wrong();
  }
  std::int64_t us = 0;
  if (text.size() > 20) {
    const std::string_view fraction = text.substr(20, text.size() - 21);
    if (text[19] != '.' || fraction.empty() || digits_at(text, 20, fraction.size()) < 0)
      return wrong();
    for (std::size_t at = 0; at < 6; ++at)
      us = us * 10 + (at < fraction.size() ? fraction[at] - '0' : 0);
  }
  const std::int64_t seconds =
      days_of(year, month, day) * 86'400 + hour * 3600 + minute * 60 + second;
  return Instant{seconds * 1'000'000 + us};
}

Error about(Error error, std::string_view kind, const ObjectMeta& meta) {
  const std::string name = meta.space.empty() ? meta.name : meta.space + "/" + meta.name;
  error.what = fmt::format("{} {}: {}", kind, name, error.what);
  return error;
}

}  // namespace tutti
