#include "model/resources.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits.h"
#include "format/quantity.h"

namespace tutti {

std::string amount_number(std::string_view resource, std::int64_t amount) {
  if (resource == "cpu") return quantity_milli_text(amount);
  if (resource == "memory" || resource == "storage") return quantity_text(amount);
  return std::to_string(amount);
}

std::string amount_text(std::string_view resource, std::int64_t amount) {
  return amount_number(resource, amount) + " " + std::string(resource);
}

LaneTable::LaneTable() : names_{"cpu", "memory", "storage", "pods"} {}

std::optional<Lane> LaneTable::find(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) return std::nullopt;
  return Lane(static_cast<std::uint64_t>(found - names_.begin()));
}

Result<Lane> LaneTable::intern(std::string_view name) {
  if (const auto known = find(name)) return *known;
  if (names_.size() >= limits::lanes) {
    return fail(Code::limit,
                "resource \"" + std::string(name) + "\" would be kind number " +
                    std::to_string(names_.size() + 1) + " of this fleet; at most " +
                    std::to_string(limits::lanes) + " are supported",
                "remove resources that no job asks for from the node definitions");
  }
  names_.emplace_back(name);
  return Lane(names_.size() - 1);
}

std::int64_t Resources::get(Lane lane) const {
  for (const Amount& entry : amounts_) {
    if (entry.lane == lane) return entry.amount;
  }
  return 0;
}

void Resources::set(Lane lane, std::int64_t amount) {
  CHECK(amount >= 0 && amount <= limits::amount, lane, amount);
  const auto at = std::ranges::lower_bound(amounts_, lane, {}, &Amount::lane);
  const bool known = at != amounts_.end() && at->lane == lane;
  if (known && amount == 0) {
    amounts_.erase(at);
  } else if (known) {
    at->amount = amount;
  } else if (amount != 0) {
    amounts_.insert(at, {lane, amount});
  }
}

std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

std::optional<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

}  // namespace tutti
