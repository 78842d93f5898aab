#include "api/request_keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/hash.h"

namespace tutti {
namespace {

constexpr std::size_t key_most = 128;
constexpr std::size_t hash_digits = 16;
constexpr std::string_view keys_section = "requests";

}  // namespace

Result<std::optional<RequestKey>> RequestKey::of(const Call& call) {
  const auto header = call.request.headers.find("Idempotency-Key");
  if (!header) return std::nullopt;
  const bool plain = std::ranges::all_of(*header, [](char c) { return c > ' ' && c <= '~'; });
  if (header->empty() || header->size() > key_most || !plain) {
    return fail(Code::invalid, "the Idempotency-Key is none",
                "1 to 128 letters, digits and signs without blanks; a random one is best");
  }
  Hash content;
  content.add(call.request.target).add(call.request.body);
  return RequestKey{fmt::format("{} {}", *header, call.user.name), content.value()};
}

RequestKey RequestKey::part(std::size_t number, std::string_view text) const {
  return {fmt::format("{}/{}", number, name), Hash().add(text).value()};
}

std::optional<RequestKey> RequestKey::parse(std::string_view text) {
  RequestKey key;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), key.content, 16);
  if (error != std::errc() || text.size() <= hash_digits) return std::nullopt;
  if (end != text.data() + hash_digits || *end != ' ') return std::nullopt;
  key.name = text.substr(hash_digits + 1);
  return key;
}

std::string RequestKey::text() const { return fmt::format("{:016x} {}", content, name); }

void RequestKeys::apply(const Happening& happening) {
  const auto* const submitted = std::get_if<JobSubmitted>(happening.event.get());
  if (submitted == nullptr) return;
  while (!ages_.empty() && ages_.front().first + remembered < happening.at) {
    const auto oldest = known_.find(ages_.front().second);
    if (oldest != known_.end() && oldest->second.at == ages_.front().first) known_.erase(oldest);
    ages_.pop_front();
  }
  const auto key = RequestKey::parse(submitted->request);
  if (!key) return;
  const auto [at, fresh] = known_.try_emplace(key->name);
  at->second.jobs.push_back(submitted->id);
  if (!fresh) return;
  at->second.content = key->content;
  at->second.at = happening.at;
  ages_.emplace_back(happening.at, key->name);
}

const RequestKeys::Known* RequestKeys::find(const std::string& name) const {
  const auto at = known_.find(name);
  return at == known_.end() ? nullptr : &at->second;
}

void RequestKeys::write(CheckpointWriter& to) const {
  to.begin(keys_section);
  BytesOut& out = to.out();
  out.number(known_.size());
  for (const auto& [at, name] : ages_) {
    const auto key = known_.find(name);
    if (key == known_.end() || key->second.at != at) continue;  // It was used anew since.
    out.text(name);
    out.number(key->second.content);
    out.signed_number(at.us);
    out.number(key->second.jobs.size());
    for (const JobId job : key->second.jobs) out.number(job.value());
    to.flush_if_much();
  }
}

Result<void> RequestKeys::read(CheckpointReader& from) {
  BytesIn& in = from.in();
  if (!from.begin(keys_section)) in.refuse("the keys of requests are missing");
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    const std::string name(in.text());
    const auto [key, fresh] = known_.try_emplace(name);
    if (!fresh) in.refuse("a key of requests stands twice");
    key->second.content = in.number();
    key->second.at.us = in.signed_number();
    for (std::size_t jobs = in.count(); jobs > 0 && in.ok(); --jobs) {
      key->second.jobs.emplace_back(in.number());
    }
    ages_.emplace_back(key->second.at, name);
  }
  return in.result();
}

}  // namespace tutti
