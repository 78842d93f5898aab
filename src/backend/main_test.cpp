/// The program of these tests is also the keeper of the tasks that they start.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "backend/local/keeper.h"

namespace {

/// A keeper that is killed before the step that the environment names.
int keep_until_killed(const char* folder) {
  const char* const last = std::getenv("TUTTI_TEST_KEEPER_DIES_AT");
  const std::string_view step = last == nullptr ? "" : last;
  return tutti::keep(folder, [step](std::string_view here) {
    if (here == step) ::kill(::getpid(), SIGKILL);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "keeper") return keep_until_killed(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
