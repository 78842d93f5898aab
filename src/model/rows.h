/// Rows with reusable, contiguous index ranges: the tables behind jobs, gangs and tasks.
#pragma once

#include <cstdint>
#include <map>
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

 private:
  std::vector<Row> rows_;
  std::vector<std::uint32_t> freed_single_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> freed_;
};

/// From ever-growing job ids to rows. Pages of ids whose jobs have all ended are dropped.
template <class Id, class Row>
class IdTable {
 public:
  Row find(Id id) const {
    const std::size_t page = id.value() / page_size;
    if (page >= pages_.size() || pages_[page].rows.empty()) return Row::none();
    return pages_[page].rows[id.value() % page_size];
  }

  /// REQUIRES: the id was never inserted.
  void insert(Id id, Row row) {
    const std::size_t page = id.value() / page_size;
    if (page >= pages_.size()) pages_.resize(page + 1);
    Page& there = pages_[page];
    if (there.rows.empty()) there.rows.resize(page_size);
    CHECK(!there.rows[id.value() % page_size].valid(), id);
    there.rows[id.value() % page_size] = row;
    ++there.live;
  }

  void erase(Id id) {
    Page& there = pages_[id.value() / page_size];
    there.rows[id.value() % page_size] = Row::none();
    if (--there.live == 0) there.rows = {};
  }

 private:
  static constexpr std::size_t page_size = 1024;
  struct Page {
    std::vector<Row> rows;
    std::uint32_t live = 0;
  };
  std::vector<Page> pages_;
};

}  // namespace tutti
