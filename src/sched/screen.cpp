#include "sched/screen.h"

#include <algorithm>
#include <cstring>

namespace tutti {
namespace {

/// Bit i is byte i, each of which is 0 or 1. The products of bytes and factors meet no carry.
std::uint64_t gather_bits(const std::uint8_t* bytes) {
  std::uint64_t eight = 0;
  std::memcpy(&eight, bytes, sizeof(eight));
  return (eight * 0x0102040810204080) >> 56;
}

}  // namespace

void Screen::clear() {
  open_.fill(never);
  whole_.fill(0);
  lanes_ = {};
  used_words_ = 0;
}

void Screen::Needs::set(unsigned number, std::int64_t amount) {
  exact[number] = amount;
  if (amount >> shift <= never) {
    coarse[number] = static_cast<std::uint16_t>(amount >> shift);
    return;
  }
  while (amount >> shift > never) ++shift;
  for (unsigned each = 0; each < width; ++each) {
    coarse[each] = static_cast<std::uint16_t>(exact[each] >> shift);
  }
}

std::uint16_t Screen::Needs::offered(std::int64_t free) const {
  return static_cast<std::uint16_t>(std::clamp<std::int64_t>(free >> shift, 0, never));
}

void Screen::set(unsigned number, const ShapeRow& row) {
  open_[number] = row.impossible ? never : row.needs_open;
  whole_[number] = row.needs_whole;
  for (std::size_t at = 0; at < screened.size(); ++at) {
    lanes_[at].set(number, row.amount(screened[at]));
  }
  used_words_ = std::max(used_words_, number / 64 + 1);
}

Screen::Mask Screen::may_fit(const Usage& usage, NodeIndex node) const {
  const Usage::Offer offer = usage.offer(node);
  const std::uint16_t cpu = lanes_[0].offered(usage.free(node, screened[0]));
  const std::uint16_t memory = lanes_[1].offered(usage.free(node, screened[1]));
  Mask mask{};
  for (std::size_t word = 0; word < used_words_; ++word) {
    const std::size_t first = word * 64;
    const std::uint16_t* open = &open_[first];
    const std::uint16_t* whole = &whole_[first];
    const std::uint16_t* needs_cpu = &lanes_[0].coarse[first];
    const std::uint16_t* needs_memory = &lanes_[1].coarse[first];
    std::array<std::uint8_t, 64> fits;
    for (unsigned at = 0; at < 64; ++at) {
      fits[at] = static_cast<std::uint8_t>(open[at] <= offer.most_open) &
                 static_cast<std::uint8_t>(whole[at] <= offer.whole_open) &
                 static_cast<std::uint8_t>(needs_cpu[at] <= cpu) &
                 static_cast<std::uint8_t>(needs_memory[at] <= memory);
    }
    for (unsigned at = 0; at < 64; at += 8) mask[word] |= gather_bits(&fits[at]) << at;
  }
  return mask;
}

}  // namespace tutti
