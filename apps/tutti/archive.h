/// A tar archive (POSIX ustar) of files that only their owner may read: `tar` unpacks it anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "net/descriptor.h"

namespace tutti {

class Archive {
 public:
  /// A new file; one that exists is left alone.
  static Result<Archive> create(const std::string& path);

  Result<void> add_folder(const std::string& name);
  /// A file that is gone by now is left out.
  Result<void> add_file(const std::string& name, const std::string& path);
  Result<void> add_text(const std::string& name, std::string_view text);
  /// Last; then it is on the disk.
  Result<void> finish();

 private:
  Archive(net::Descriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  Result<void> write(std::string_view bytes);
  /// Behind a file of that size, up to the next block.
  Result<void> pad(std::uint64_t size);

  net::Descriptor file_;
  std::string path_;
};

}  // namespace tutti
