/// Rows with reusable, contiguous index ranges: the tables behind jobs, gangs and tasks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/id.h"

namespace tutti {

/// `take(n)` gives n neighbouring rows, from freed ranges of exactly that length or at the end.
template <class Key, class Row>
class Rows {
 public:
  std::size_t size() const { return rows_.size(); }
  const Row& operator[](Key key) const { return rows_[key.value()]; }
  Row& operator[](Key key) { return rows_[key.value()]; }

  Key take(std::uint32_t count) {
    std::vector<std::uint32_t>& freed = count == 1 ? freed_single_ : freed_[count];
    if (freed.empty()) {
      const Key first(rows_.size());
      rows_.resize(rows_.size() + count);
      return first;
    }
    const Key first(freed.back());
    freed.pop_back();
    return first;
  }

  void give_back(Key first, std::uint32_t count) {
    for (std::uint32_t offset = 0; offset < count; ++offset) rows_[first.value() + offset] = Row{};
    (count == 1 ? freed_single_ : freed_[count]).push_back(first.value());
  }

  /// Freed ranges by their length, each list in the order in which they were given back.
  using Freed = std::map<std::uint32_t, std::vector<std::uint32_t>>;
  Freed freed() const {
    Freed all = freed_;
    if (!freed_single_.empty()) all[1] = freed_single_;
    std::erase_if(all, [](const auto& each) { return each.second.empty(); });
    return all;
  }
  /// So many rows, empty ones, of which these are free.
  void restore(std::size_t size, Freed freed) {
    rows_.assign(size, Row{});
    freed_single_ = std::move(freed[1]);
    freed.erase(1);
    freed_ = std::move(freed);
  }

 private:
  std::vector<Row> rows_;
  std::vector<std::uint32_t> freed_single_;
  Freed freed_;
};

/// From ever-growing job ids to rows, in pages of neighbouring ids; there are only those in which a
/// job lives. Finding costs O(log pages).
template <class Id, class Row>
class IdTable {
 public:
  Row find(Id id) const {
    const auto page = at(id);
    return is(page, id) ? page->rows[id.value() % page_size] : Row::none();
  }

  /// REQUIRES: the id was never inserted.
  void insert(Id id, Row row) {
    auto page = at(id);
    if (!is(page, id)) {
      page = pages_.insert(page, {.number = id.value() / page_size, .rows = {}});
      page->rows.resize(page_size);
    }
    Row& there = page->rows[id.value() % page_size];
    CHECK(!there.valid(), id);
    there = row;
    ++page->live;
  }

  void erase(Id id) {
    const auto page = at(id);
    page->rows[id.value() % page_size] = Row::none();
    if (--page->live == 0) pages_.erase(page);
  }

 private:
  static constexpr std::size_t page_size = 1024;
  struct Page {
    std::uint64_t number = 0;
    std::vector<Row> rows;
    std::uint32_t live = 0;
  };
  /// Where the page of the id is, or would be.
  auto at(Id id) const {
    return std::ranges::lower_bound(pages_, number_of(id), {}, &Page::number);
  }
  auto at(Id id) { return std::ranges::lower_bound(pages_, number_of(id), {}, &Page::number); }
  static std::uint64_t number_of(Id id) { return id.value() / page_size; }
  bool is(auto page, Id id) const { return page != pages_.end() && page->number == number_of(id); }

  std::vector<Page> pages_;  ///< By number.
};

}  // namespace tutti
