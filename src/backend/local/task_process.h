/// The first process of a task, from fork to exec.
///
/// It is made first and held back, so that its identity can be written down before it is anything;
/// `release` lets it become the program. All that can fail on that way comes back with the step.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "backend/local/launch_order.h"
#include "backend/local/system.h"

namespace tutti {

class TaskProcess {
 public:
  /// What it finds as its standard streams. Both outputs may be the same.
  struct Streams {
    int input = -1;
    int output = -1;
    int errors = -1;
  };

  TaskProcess() = default;
  /// Forks. Nothing is executed, and the process ends by itself where we do before `release`.
  static Result<TaskProcess> make(const LaunchOrder& order, const std::string& mark,
                                  const Streams& streams);

  pid_t pid() const { return pid_; }
  /// Lets it go on to the program. False where it is dead already.
  bool release();
  /// Lets it end without having been anything.
  void give_up() { go_.close(); }
  /// Readable once `outcome` is known; -1 after it was taken.
  int outcome_fd() const { return outcome_.get(); }
  /// Nothing where it was executed, else what prevented that.
  std::optional<Error> outcome();

 private:
  pid_t pid_ = -1;
  Descriptor go_;
  Descriptor outcome_;
};

}  // namespace tutti
