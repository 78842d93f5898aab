#include "backend/local/stopping.h"

#include <gtest/gtest.h>

#include <string>

namespace tutti::stopping_test {

/// What is due within so many milliseconds, one millisecond at a time: "12:15 " for each signal.
std::string play(Stopping stopping, int milliseconds) {
  std::string out;
  for (int at = 0; at < milliseconds; ++at) {
    while (const auto due = stopping.due(Instant{} + Duration::milliseconds(at))) {
      out += std::to_string(at) + (due->to_all ? ":" : "!") + std::to_string(due->number) + " ";
    }
  }
  return out;
}

TEST(StoppingTest, NothingIsDueUntilItBegins) {
  Stopping stopping{StopSteps{}};
  EXPECT_EQ(play(stopping, 1000), "");
  EXPECT_FALSE(stopping.begun());
  EXPECT_EQ(stopping.next(), Instant::max());
  stopping.begin(EndCause::time_limit);
  stopping.begin(EndCause::stopped);
  EXPECT_EQ(stopping.cause(), EndCause::time_limit) << "that was the reason";
}

TEST(StoppingTest, SignalsGetHarderAndSigkillComesAgain) {
  Stopping stopping({.checkpoint_signal = SIGUSR1,
                     .checkpoint_grace = Duration::milliseconds(100),
                     .term_grace = Duration::milliseconds(50)});
  stopping.begin(EndCause::stopped);
  EXPECT_EQ(play(stopping, 170), "0!10 100:15 150:9 152:9 156:9 164:9 ");
}

TEST(StoppingTest, WithoutACheckpointSignalTermIsFirst) {
  Stopping stopping({.checkpoint_signal = 0,
                     .checkpoint_grace = Duration::milliseconds(100),
                     .term_grace = Duration::milliseconds(0)});
  stopping.begin(EndCause::stopped);
  EXPECT_EQ(play(stopping, 2), "0:15 0:9 ");
}

}  // namespace tutti::stopping_test
