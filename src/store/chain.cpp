#include "store/chain.h"

#include <openssl/evp.h>

#include <array>
#include <charconv>

#include "base/check.h"

namespace tutti {
namespace {

constexpr std::size_t hash_digits = 64;
constexpr std::string_view hex_digits = "0123456789abcdef";

}  // namespace

/// The algorithm is fetched once: that costs more than hashing a line.
struct Chain::Digest {
  EVP_MD* algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  EVP_MD_CTX* context = EVP_MD_CTX_new();

  Digest() = default;
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  ~Digest() {
    EVP_MD_CTX_free(context);
    EVP_MD_free(algorithm);
  }
  void begin() const { CHECK(EVP_DigestInit_ex2(context, algorithm, nullptr) == 1); }
  void add(std::string_view text) const {
    CHECK(EVP_DigestUpdate(context, text.data(), text.size()) == 1);
  }
  std::string end() const {
    std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
    unsigned size = 0;
    CHECK(EVP_DigestFinal_ex(context, raw.data(), &size) == 1);
    CHECK(size == hash_digits / 2, size);
    std::string out(hash_digits, '\0');
    for (std::size_t at = 0; at < hash_digits / 2; ++at) {
      out[2 * at] = hex_digits[raw[at] >> 4U];
      out[2 * at + 1] = hex_digits[raw[at] & 15U];
    }
    return out;
  }
};

std::string chain_origin() { return std::string(hash_digits, '0'); }

bool is_chain_hash(std::string_view text) {
  return text.size() == hash_digits && text.find_first_not_of(hex_digits) == std::string_view::npos;
}

Chain::Chain() : digest_(std::make_unique<Digest>()) {
  CHECK(digest_->algorithm != nullptr && digest_->context != nullptr);
}
Chain::~Chain() = default;
Chain::Chain(Chain&&) noexcept = default;
Chain& Chain::operator=(Chain&&) noexcept = default;

std::string Chain::hash(std::string_view before, std::uint64_t row, std::string_view line) {
  std::array<char, 24> number{'\n'};
  char* const end = std::to_chars(number.data() + 1, number.data() + number.size() - 1, row).ptr;
  *end = '\n';
  digest_->begin();
  digest_->add(before);
  digest_->add({number.data(), static_cast<std::size_t>(end + 1 - number.data())});
  digest_->add(line);
  return digest_->end();
}

std::string Chain::hash(std::string_view text) {
  digest_->begin();
  digest_->add(text);
  return digest_->end();
}

}  // namespace tutti
