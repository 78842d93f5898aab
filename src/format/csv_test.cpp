#include "format/csv.h"

#include <gtest/gtest.h>

#include <string>

namespace tutti::csv_test {

/// All rows as [a][b], one per line; an error ends it.
std::string drain(Result<CsvReader> open) {
  if (!open) return open.error().text();
  CsvReader csv = *std::move(open);
  std::string out;
  while (true) {
    const Result<bool> more = csv.next();
    if (!more) return out + more.error().text();
    if (!*more) return out;
    for (std::size_t i = 0; i < csv.fields().size(); ++i) {
      out += "[" + std::string(csv.text(i)) + "]";
    }
    out += "\n";
  }
}

std::string read(std::string_view text) { return drain(CsvReader::open(text)); }

TEST(CsvTest, ReadsRowsFieldsAndLineEnds) {
  EXPECT_EQ(read("a,b\n1,2\n3,4"), "[1][2]\n[3][4]\n");
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a,b\r\n1,2\r\n\r\n,\r\n"),
            "[1][2]\n[][]\n");
  EXPECT_EQ(read("a,b\n"), "");
  EXPECT_EQ(read("a\n\"\"\n\nx\n"), "[]\n[x]\n");
  EXPECT_EQ(drain(CsvReader::open("a|b\n1,5|2\n", '|')), "[1,5][2]\n");
}

TEST(CsvTest, QuotedFieldsHoldAnything) {
  EXPECT_EQ(read("a,b\n\"x,\"\"y\"\"\",\"1\n2\r\n3\"\n"), "[x,\"y\"][1\n2\r\n3]\n");
  EXPECT_EQ(read("a,b\n\"\"\"\",\"\"\n"), "[\"][]\n");
  EXPECT_EQ(read("a,b\n\"\"\"\"\"\",z"), "[\"\"][z]\n");
}

TEST(CsvTest, PiecesOfAnySizeReadTheSame) {
  const std::string_view text =
      "\xEF\xBB\xBF"
      "a,b,c\r\n1,\"x \"\"q\"\" y\",3\r\n\"li\nne\",调,\"\"\"\"\r\n\r\n4,5,6";
  const std::string whole = read(text);
  EXPECT_EQ(whole, "[1][x \"q\" y][3]\n[li\nne][调][\"]\n[4][5][6]\n");
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    EXPECT_EQ(drain(CsvReader::open(source_of(text, piece))), whole) << piece;
  }
}

TEST(CsvTest, LinesAndColumnsAreThoseOfTheFile) {
  CsvReader csv = CsvReader::open("a,b\n\"1\n2\",调度\n\n度,\"x\"\n").value();
  ASSERT_TRUE(csv.next().value());
  EXPECT_EQ(csv.place(0).text(), "2:1");
  EXPECT_EQ(csv.place(1).text(), "3:4");
  ASSERT_TRUE(csv.next().value());
  EXPECT_EQ(csv.place(1).text(), "5:3");
  EXPECT_FALSE(csv.next().value());
  EXPECT_FALSE(csv.next().value());
}

TEST(CsvTest, ErrorsNameLineColumnAndWayOut) {
  EXPECT_EQ(read(""),
            "error: 1:1: the table is empty\nhint:  its first row has to name the columns\n");
  EXPECT_EQ(read("a,b,a\n"), "error: 1:5: column \"a\" is named twice\n");
  EXPECT_EQ(read("a,b,c\n1,2,3\n4,5\n"),
            "[1][2][3]\nerror: 3:3: column \"c\" is missing: the row has 2 fields, the header 3\n"
            "hint:  is the file complete?\n");
  EXPECT_EQ(read("a,b\n1,2,3\n"),
            "error: 2:5: the row has 3 fields, the header 2\n"
            "hint:  a field that holds the delimiter has to stand in quotes\n");
  EXPECT_EQ(read("a,b\n1,x\"y\"\n"),
            "error: 2:4: a quote inside a field without quotes\n"
            "hint:  put the whole field in quotes and double the quotes inside\n");
  EXPECT_EQ(read("a,b\n\"x\"y,2\n"),
            "error: 2:4: text behind the closing quote of a field\n"
            "hint:  double the quotes inside a quoted field\n");
  EXPECT_EQ(read("a,b\n1,\"open\n2,3\n"),
            "error: 2:3: a quoted field is not closed\nhint:  add the closing quote\n");
  EXPECT_EQ(read("a,b\n1,2\r3,4\n"), "error: 2:4: a carriage return without a line feed\n");
  EXPECT_EQ(read("a,b\n1,caf\xe9\n"),
            "error: 2:6: byte 0xe9 is not valid UTF-8\nhint:  save the file as UTF-8\n");
  EXPECT_EQ(read(std::string_view("a,b\n1,\0\n", 8)), "error: 2:3: a NUL character\n");
}

TEST(CsvTest, TypedFields) {
  CsvReader csv = CsvReader::open("name,cpu_milli,time,gpu\nn0,4000,1.5,\n").value();
  ASSERT_TRUE(csv.next().value());
  EXPECT_EQ(csv.text("name").value(), "n0");
  EXPECT_EQ(csv.integer("cpu_milli", 0, 4'000).value(), 4'000);
  EXPECT_EQ(csv.integer(1).value(), 4'000);
  EXPECT_EQ(csv.fixed("time", 6).value(), 1'500'000);
  EXPECT_EQ(csv.optional_integer("gpu").value(), std::nullopt);
  EXPECT_EQ(csv.optional_fixed("gpu", 3).value(), std::nullopt);
  EXPECT_EQ(csv.optional_integer("cpu_milli").value(), 4'000);
  EXPECT_EQ(csv.integer("cpu_milli", 0, 3'999).error().text(),
            "error: 2:4: column \"cpu_milli\": 4000 is out of range\nhint:  allowed: 0 to 3999\n");
  EXPECT_EQ(csv.integer("gpu").error().text(),
            "error: 2:13: column \"gpu\": \"\" is not an integer\n");
  EXPECT_EQ(csv.integer("time").error().what, "column \"time\": \"1.5\" is not an integer");
  EXPECT_EQ(csv.fixed("name", 3).error().text(),
            "error: 2:1: column \"name\": \"n0\" is not a number\n"
            "hint:  write a plain number such as 12 or 0.25\n");
  EXPECT_EQ(csv.integer("cpu_mili").error().text(),
            "error: 1:1: there is no column \"cpu_mili\"\n"
            "hint:  is it the one that is called \"cpu_milli\"?\n");
  EXPECT_TRUE(csv.has("time"));
  EXPECT_FALSE(csv.has("times"));
}

TEST(CsvTest, IntegersBeyond64BitsAreRefused) {
  CsvReader csv = CsvReader::open("a,b\n9223372036854775808,-9223372036854775808\n").value();
  ASSERT_TRUE(csv.next().value());
  EXPECT_EQ(csv.integer("a").error().what,
            "column \"a\": \"9223372036854775808\" does not fit 64 bits");
  EXPECT_EQ(csv.integer("b").value(), CsvReader::least);
}

TEST(CsvTest, AnEndlessRowIsRefused) {
  bool first = true;
  const Source source = [&](std::span<char> room) -> Result<std::size_t> {
    std::fill(room.begin(), room.end(), 'x');
    if (first) std::string_view("a\n\"").copy(room.data(), 3);
    first = false;
    return room.size();
  };
  CsvReader csv = CsvReader::open(source).value();
  EXPECT_EQ(csv.next().error().text(),
            "error: 2:1: a row of more than 16777216 bytes\nhint:  is a closing quote missing?\n");
  EXPECT_EQ(csv.next().error().code, Code::limit);
}

TEST(CsvTest, TooManyColumnsAreRefused) {
  EXPECT_EQ(read(std::string(5'000, ',') + "\n"), "error: 1:1: more than 4096 columns\n");
}

}  // namespace tutti::csv_test
