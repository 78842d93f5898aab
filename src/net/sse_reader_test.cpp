#include "net/sse_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tutti::net::sse_reader_test {

using testing::ElementsAre;

/// What comes of the pieces: "id/event/data" for each message.
class SseReaderTest : public testing::Test {
 protected:
  std::vector<std::string> feed(std::string_view piece) {
    std::vector<std::string> got;
    reader_.feed(piece, [&](const SseReader::Message& message) {
      got.push_back(message.id + "/" + message.event + "/" + message.data);
    });
    return got;
  }
  SseReader reader_;
};

TEST_F(SseReaderTest, ReadsMessages) {
  EXPECT_THAT(feed(": hello\nretry: 5\n\nid: 7\nevent: job\ndata: {}\n\ndata:a\ndata: b\n\n"),
              ElementsAre("7/job/{}", "7/message/a\nb"));
  EXPECT_EQ(reader_.last_id(), "7");
  EXPECT_THAT(feed("event: job\n\ndata\n\n"), ElementsAre("7/message/"));
}

TEST_F(SseReaderTest, PiecesMayEndAnywhere) {
  for (const std::string end : {"\n", "\r", "\r\n"}) {
    const std::string text =
        "id: 1" + end + "data: x" + end + end + "data: y" + end + "id: 2" + end + end;
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      reader_ = SseReader();
      std::vector<std::string> got = feed(std::string_view(text).substr(0, cut));
      for (const std::string& more : feed(std::string_view(text).substr(cut))) got.push_back(more);
      EXPECT_THAT(got, ElementsAre("1/message/x", "2/message/y")) << cut;
    }
  }
}

TEST_F(SseReaderTest, OnlyWholeMessagesCountForComingBack) {
  EXPECT_THAT(feed("id: 3\n\nid: 4\ndata: half"), ElementsAre());
  EXPECT_EQ(reader_.last_id(), "3");
  reader_.restart();
  EXPECT_THAT(feed("\ndata: whole\n\n"), ElementsAre("3/message/whole"));
}

}  // namespace tutti::net::sse_reader_test
