/// The words that describe one job on a command line: for tutti submit and tutti run.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace tutti {

struct JobWords {
  std::vector<std::string> command;
  std::string name;
  std::string queue;
  std::string priority;
  std::string gpus;
  std::string cpu;
  std::string memory;
  std::string tasks;
  std::string directory;
  std::string output;
  std::string time;
  std::string retries;
  std::string ttl;
  std::string array;
  std::vector<std::string> after;
  std::vector<std::string> variables;
  bool held = false;
  /// How somebody sits at it: "terminal" or "pipes"; empty: nobody does.
  std::string attended;
  int rows = 0;
  int columns = 0;
};

/// Declares the options of one job but for its command, its output and whether it is held.
void declare_job_words(CLI::App& app, JobWords& words);

/// As the server reads it.
Result<std::string> job_text(const JobWords& words);

}  // namespace tutti
