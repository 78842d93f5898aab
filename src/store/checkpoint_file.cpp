#include "store/checkpoint_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "net/descriptor.h"
#include "store/chain.h"
#include "store/lock_file.h"

namespace tutti {
namespace {

constexpr std::size_t block = std::size_t{1} << 20U;
constexpr std::size_t digest_size = 64;
constexpr std::size_t description_size = 512;
constexpr std::string_view first_line = "\ntutti checkpoint ";
constexpr std::string_view draft_suffix = ".new";
constexpr std::string_view file_prefix = "checkpoint-";
constexpr std::size_t kept = 2;

Error damaged(const std::string& path, std::string what) {
  return {.code = Code::invalid, .what = std::move(what), .where = path, .hint = {}};
}

/// The value of the line that begins so.
std::string_view line_of(std::string_view description, std::string_view name) {
  const std::size_t at = description.find("\n" + std::string(name) + " ");
  if (at == std::string_view::npos) return {};
  description.remove_prefix(at + name.size() + 2);
  return description.substr(0, description.find('\n'));
}

template <class T>
bool read_number(std::string_view text, T& out, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

std::string hex(std::uint64_t number) {
  std::array<char, 16> digits{};
  char* const end = std::to_chars(digits.begin(), digits.end(), number, 16).ptr;
  return std::string(digits.begin(), end);
}

std::string description_of(const CheckpointNote& note, std::uint64_t bytes,
                           const std::string& digests_hash) {
  std::string out(first_line);
  out += std::to_string(CheckpointFile::format) + "\nrow " + std::to_string(note.row);
  out += "\nhash " + note.hash + "\nstate " + hex(note.state_hash);
  out += "\nat " + std::to_string(note.at.us) + "\nbytes " + std::to_string(bytes);
  out += "\nblocks " + digests_hash + "\n";
  out.resize(description_size, '\n');
  return out;
}

struct Description {
  CheckpointNote note;
  std::uint64_t bytes = 0;
  std::string digests_hash;
};

Result<Description> read_description(const std::string& path, std::string_view text) {
  int format = 0;
  const std::string_view digits =
      text.starts_with(first_line)
          ? text.substr(first_line.size(), text.find('\n', 1) - first_line.size())
          : std::string_view{};
  if (!read_number(digits, format)) {
    return fail(damaged(path, "it is no checkpoint, or was cut off: its end is not a description"));
  }
  if (format > CheckpointFile::format) {
    return fail({.code = Code::unsupported,
                 .what = "format " + std::to_string(format) + " is newer than " +
                         std::to_string(CheckpointFile::format) + ", the newest one known here",
                 .where = path,
                 .hint = "use the version of Tutti that wrote it, or a newer one"});
  }
  Description out;
  out.note.hash = line_of(text, "hash");
  out.digests_hash = line_of(text, "blocks");
  if (!read_number(line_of(text, "row"), out.note.row) || !is_chain_hash(out.note.hash) ||
      !read_number(line_of(text, "state"), out.note.state_hash, 16) ||
      !read_number(line_of(text, "at"), out.note.at.us) ||
      !read_number(line_of(text, "bytes"), out.bytes)) {
    return fail(damaged(path, "its description is damaged"));
  }
  return out;
}

Result<void> check_blocks(const std::string& path, std::string_view bytes, std::string_view digests,
                          const std::string& digests_hash) {
  Chain chain;
  if (chain.hash(digests) != digests_hash) return fail(damaged(path, "its digests are damaged"));
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    if (chain.hash(bytes.substr(at, block)) ==
        digests.substr(at / block * digest_size, digest_size))
      continue;
    return fail(damaged(path, "bytes " + std::to_string(at) + " to " +
                                  std::to_string(std::min(at + block, bytes.size())) +
                                  " are damaged"));
  }
  return {};
}

Result<void> sync_folder(const std::string& path) {
  const net::Descriptor opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid()) return fail(file_error(path, "open", errno));
  if (::fsync(opened.get()) != 0) return fail(file_error(path, "sync", errno));
  return {};
}

}  // namespace

void CheckpointFile::Unmap::operator()(const char* begin) const {
  ::munmap(const_cast<char*>(begin), size_);
}

Result<CheckpointFile> CheckpointFile::open(const std::string& path) {
  const net::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return fail(file_error(path, "open", errno));
  struct stat about{};
  if (::fstat(file.get(), &about) != 0) return fail(file_error(path, "read", errno));
  const auto size = static_cast<std::size_t>(about.st_size);
  if (size < description_size) return fail(damaged(path, "it is no checkpoint, or was cut off"));
  void* const begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (begin == MAP_FAILED) return fail(file_error(path, "read", errno));
  CheckpointFile out(static_cast<const char*>(begin), size);
  const std::string_view all(out.map_.get(), size);
  Description found = TRY(read_description(path, all.substr(size - description_size)));
  const std::size_t blocks = found.bytes / block + (found.bytes % block > 0 ? 1 : 0);
  const std::size_t rest = size - description_size;
  if (found.bytes > rest || rest - found.bytes != blocks * digest_size) {
    return fail(damaged(path, "it has another length than it says"));
  }
  out.bytes_ = all.substr(0, found.bytes);
  TRY(check_blocks(path, out.bytes_, all.substr(found.bytes, blocks * digest_size),
                   found.digests_hash));
  out.note_ = std::move(found.note);
  return out;
}

// --- Writing ------------------------------------------------------------------------------------

struct CheckpointFile::Draft::Output {
  std::string path;
  std::string draft;
  net::Descriptor file;
  int error = 0;  ///< Of the first write that failed.
  std::string gathered;
  std::string digests;
  std::uint64_t bytes = 0;
  Chain chain;

  ~Output() {
    if (!draft.empty()) ::unlink(draft.c_str());
  }
  void write(std::string_view rest) {
    if (error == 0 && !net::write_all(file.get(), rest)) error = errno;
  }
  void write_block(std::string_view part) {
    digests += chain.hash(part);
    bytes += part.size();
    write(part);
  }
};

CheckpointFile::Draft::Draft(std::unique_ptr<Output> output) : output_(std::move(output)) {}
CheckpointFile::Draft::~Draft() = default;
CheckpointFile::Draft::Draft(Draft&&) noexcept = default;
CheckpointFile::Draft& CheckpointFile::Draft::operator=(Draft&&) noexcept = default;
const std::string& CheckpointFile::Draft::draft_path() const { return output_->draft; }

Result<CheckpointFile::Draft> CheckpointFile::Draft::begin(const std::string& path) {
  auto output = std::make_unique<Output>();
  const std::string draft = path + std::string(draft_suffix);
  output->file =
      net::Descriptor(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!output->file.valid()) return fail(file_error(draft, "create", errno));
  output->path = path;
  output->draft = draft;
  return Draft(std::move(output));
}

void CheckpointFile::Draft::add(std::string_view piece) {
  Output& out = *output_;
  out.gathered += piece;
  std::size_t done = 0;
  for (; out.gathered.size() - done >= block; done += block) {
    out.write_block(std::string_view(out.gathered).substr(done, block));
  }
  out.gathered.erase(0, done);
}

Result<void> CheckpointFile::Draft::complete(const CheckpointNote& note) {
  Output& out = *output_;
  if (!out.gathered.empty()) out.write_block(out.gathered);
  out.write(out.digests);
  out.write(description_of(note, out.bytes, out.chain.hash(out.digests)));
  if (out.error == 0 && ::fsync(out.file.get()) != 0) out.error = errno;
  if (out.error != 0) return fail(file_error(out.draft, "write", out.error));
  return {};
}

Result<void> CheckpointFile::Draft::publish() {
  Output& out = *output_;
  if (::rename(out.draft.c_str(), out.path.c_str()) != 0) {
    return fail(file_error(out.path, "create", errno));
  }
  out.draft.clear();
  return sync_folder(std::filesystem::path(out.path).parent_path().string());
}

// --- The folder ---------------------------------------------------------------------------------

std::vector<CheckpointFolder::Found> CheckpointFolder::list() const {
  std::vector<Found> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
    const std::string name = entry.path().filename().string();
    Found found{.path = entry.path().string()};
    if (!name.starts_with(file_prefix)) continue;
    if (read_number(std::string_view(name).substr(file_prefix.size()), found.row)) {
      out.push_back(std::move(found));
    }
  }
  std::ranges::sort(out, std::ranges::greater{}, &Found::row);
  return out;
}

std::string CheckpointFolder::path_of(JournalRow row) const {
  return path_ + "/" + std::string(file_prefix) + std::to_string(row);
}

Result<void> CheckpointFolder::make() const {
  if (::mkdir(path_.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return fail(file_error(path_, "create", errno));
}

void CheckpointFolder::prune() const {
  const std::vector<Found> all = list();
  std::error_code ignored;
  for (std::size_t at = kept; at < all.size(); ++at) {
    std::filesystem::remove(all[at].path, ignored);
  }
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
    if (entry.path().string().ends_with(draft_suffix)) {
      std::filesystem::remove(entry.path(), ignored);
    }
  }
}

}  // namespace tutti
