#include "store/head_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "store/chain.h"

namespace tutti {
namespace {

constexpr std::size_t row_digits = 20;  // Every note has the same length, so that none is torn.
constexpr std::size_t note_size = row_digits + 1 + 64 + 1;

std::optional<HeadFile::Head> parse(std::string_view text) {
  if (text.size() != note_size || text[row_digits] != ' ' || text.back() != '\n') {
    return std::nullopt;
  }
  const std::string row(text.substr(0, row_digits));
  HeadFile::Head head{.hash = std::string(text.substr(row_digits + 1, 64))};
  const char* const last = row.data() + row.size();
  const auto [end, error] = std::from_chars(row.data(), last, head.row);
  if (error != std::errc{} || end != last || !is_chain_hash(head.hash)) return std::nullopt;
  return head;
}

}  // namespace

std::optional<HeadFile::Head> HeadFile::read(const std::string& path) {
  const net::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  std::array<char, note_size + 1> text{};
  const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
  return parse({text.data(), size > 0 ? static_cast<std::size_t>(size) : 0});
}

Result<HeadFile> HeadFile::open(const std::string& path) {
  net::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) return fail(file_error(path, "open", errno));
  return HeadFile(std::move(file));
}

void HeadFile::note(const Head& head) const {
  const std::string row = std::to_string(head.row);
  const std::string text = std::string(row_digits - row.size(), '0') + row + " " + head.hash + "\n";
  [[maybe_unused]] const ssize_t written = ::pwrite(file_.get(), text.data(), text.size(), 0);
}

}  // namespace tutti
