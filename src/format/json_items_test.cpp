#include <gtest/gtest.h>

#include <string>

#include "format/json.h"
#include "format/source.h"

namespace tutti::json_items_test {

/// The elements and the rest, one per line, read in pieces of `piece` bytes; an error ends it.
std::string read(std::string_view text, std::string name = "items", std::size_t piece = 1 << 16,
                 std::size_t element_max = JsonItems::element_bytes_default) {
  JsonItems items(source_of(text, piece), std::move(name), element_max);
  std::string out;
  while (true) {
    const Result<std::optional<Value>> item = items.next();
    if (!item) return out + item.error().text();
    if (!*item) break;
    EXPECT_EQ((*item)->place(), items.place());
    out += (*item)->place().text() + " " + to_json(**item) + "\n";
  }
  EXPECT_FALSE(items.next().value().has_value());  // The end stays the end.
  const Result<Value> rest = items.rest();
  return out + (rest ? to_json(*rest) + "\n" : rest.error().text());
}

constexpr std::string_view pod_list =
    "{\"kind\": \"List\", \"metadata\": {\"resourceVersion\": \"7\"},\n"
    "\"items\": [ {\"a\": \"]}\\\"\\\\\"} ,\n"
    "  [1, [2]], \"x,]\", 12 ,null], \"tail\": [true] }\n";

TEST(JsonItemsTest, HandsOutElementsWithTheirPlaces) {
  EXPECT_EQ(read(pod_list),
            "2:12 {\"a\":\"]}\\\"\\\\\"}\n"
            "3:3 [1,[2]]\n"
            "3:13 \"x,]\"\n"
            "3:20 12\n"
            "3:24 null\n"
            "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"7\"},\"tail\":[true]}\n");
}

// Wherever the pieces are cut, the answer is the same.
TEST(JsonItemsTest, PiecesOfAnySizeReadTheSame) {
  const std::string whole = read(pod_list);
  for (std::size_t piece = 1; piece < pod_list.size(); ++piece) {
    EXPECT_EQ(read(pod_list, "items", piece), whole) << piece;
  }
}

// Whatever is cut off the end is noticed.
TEST(JsonItemsTest, EveryTruncationIsAnError) {
  const std::size_t end = pod_list.rfind('}');
  for (std::size_t size = 0; size <= end; ++size) {
    EXPECT_NE(read(pod_list.substr(0, size)).find("error: "), std::string::npos) << size;
  }
}

TEST(JsonItemsTest, ReadsATopLevelListWithoutAName) {
  EXPECT_EQ(read("\xEF\xBB\xBF[1, {}]", ""), "1:2 1\n1:5 {}\n{}\n");
  EXPECT_EQ(read("[]", ""), "{}\n");
  EXPECT_EQ(read("{}", ""), "error: 1:1: expected a list, found \"{\"\n");
}

TEST(JsonItemsTest, EmptyAndNullListsHaveNoElements) {
  EXPECT_EQ(read("{\"items\": []}"), "{}\n");
  EXPECT_EQ(read("{\"items\": null, \"a\": 1}"), "{\"a\":1}\n");
  EXPECT_EQ(read("{\"\\u0069tems\": [1]}"), "1:17 1\n{}\n");
}

TEST(JsonItemsTest, ErrorsNamePlaceAndReason) {
  EXPECT_EQ(read("{\"a\": 1}"),
            "error: 1:9: the document has no list \"items\"\nhint:  is it the right file?\n");
  EXPECT_EQ(read("{\"items\": 5}"),
            "error: 1:11: \"items\" is not a list\nhint:  it has to be a list of objects\n");
  EXPECT_EQ(read("{\"items\": [1], \"items\": []}"),
            "1:12 1\nerror: 1:16: duplicate key \"items\"\nhint:  keep one\n");
  EXPECT_EQ(read("{\"items\": [1 2]}"),
            "1:12 1\nerror: 1:14: expected \",\" or \"]\", found \"2\"\n");
  EXPECT_EQ(read("{\"items\": [1,]}"), "1:12 1\nerror: 1:14: expected a value, found \"]\"\n");
  EXPECT_EQ(read("{\"items\": [{\"a\": nul}]}"),
            "error: 1:18: \"nul\" is not JSON\nhint:  text stands in double quotes\n");
  EXPECT_EQ(read("{\"items\": [1]"),
            "1:12 1\nerror: 1:14: the document ends too early: expected \",\" or \"}\"\n"
            "hint:  is the file complete?\n");
  EXPECT_EQ(read("{\"items\": [1]} x"),
            "1:12 1\nerror: 1:16: expected the end of the document, found \"x\"\n");
  EXPECT_EQ(read("{\"a\": 1, \"a\": 2, \"items\": []}"),
            "error: 1:10: duplicate key \"a\"\nhint:  it stands first at 1:2; keep one\n");
  EXPECT_EQ(read("{\"items\": [\"" + std::string(100, 'x') + "\"]}", "items", 16, 64),
            "error: 1:12: an element of more than 64 bytes\nhint:  is the list the right one?\n");
}

TEST(JsonItemsTest, AnErrorOfTheSourceComesThrough) {
  JsonItems items(
      [](std::span<char>) -> Result<std::size_t> { return fail(Code::io, "disk gone"); }, "items");
  EXPECT_EQ(items.next().error().text(), "error: disk gone\n");
  EXPECT_EQ(items.next().error().code, Code::io);
}

// 64 MiB of members that nobody asked for pass through a buffer of 64 KiB.
TEST(JsonItemsTest, LargeMembersAreSkippedAndNotKept) {
  std::size_t left = std::size_t{64} << 20;
  std::string head = "{\"big\": \"";
  std::string tail = "\", \"items\": [7]}";
  const Source source = [&](std::span<char> room) -> Result<std::size_t> {
    std::string& text = !head.empty() ? head : tail;
    if (head.empty() && left > 0) {
      const std::size_t count = std::min(left, room.size());
      std::fill_n(room.begin(), count, 'x');
      left -= count;
      return count;
    }
    const std::size_t count = text.copy(room.data(), room.size());
    text.erase(0, count);
    return count;
  };
  JsonItems items(source, "items");
  EXPECT_EQ(items.next_text().value(), "7");
  EXPECT_EQ(items.next_text().value(), std::nullopt);
  EXPECT_EQ(to_json(items.rest().value()), "{}");
}

}  // namespace tutti::json_items_test
