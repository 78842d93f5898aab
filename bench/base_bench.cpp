#include <array>
#include <numeric>

#include "base/hash.h"
#include "base/prng.h"
#include "bench/case.h"

namespace tutti::bench {
namespace {

Body prng_shuffle(std::int64_t size) {
  std::vector<std::uint32_t> items(static_cast<std::size_t>(size));
  std::iota(items.begin(), items.end(), 0U);
  return [items = std::move(items), prng = Prng(42)]() mutable -> std::uint64_t {
    shuffle(std::span<std::uint32_t>(items), prng);
    return items.front();
  };
}

Body hash_words(std::int64_t size) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(size));
  Prng prng(42);
  for (std::uint64_t& word : words) word = prng.next64();
  return [words = std::move(words)] {
    Hash hash;
    for (const std::uint64_t word : words) hash.add(word);
    return hash.value();
  };
}

}  // namespace

std::span<const Case> base_cases() {
  static const std::array<Case, 2> cases = {{
      {"prng_shuffle", {10, 1'000}, prng_shuffle},
      {"hash_words", {10, 1'000}, hash_words},
  }};
  return cases;
}

}  // namespace tutti::bench
