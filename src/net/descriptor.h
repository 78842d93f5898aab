/// A file descriptor that closes itself, and what the operating system said, as an Error.
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace tutti::net {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  bool valid() const { return number_ >= 0; }
  int get() const { return number_; }
  void close() {
    if (valid()) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

/// Writes all of it, also where that takes several calls; or leaves errno.
bool write_all(int file, std::string_view bytes);

/// "cannot VERB it: Permission denied", at WHERE, with a way out where there is a usual one.
Error system_error(std::string_view verb, std::string where, int error);

}  // namespace tutti::net
