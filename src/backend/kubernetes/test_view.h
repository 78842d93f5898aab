/// For the tests of backend/kubernetes/: what a user of a ListWatch makes of it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/kubernetes/list_watch.h"

namespace tutti::test {

/// What a user keeps of all that it is told.
class View {
 public:
  WatchReports reports() {
    return {.replace =
                [this] {
                  named_.clear();
                  log += "[";
                },
            .replaced =
                [this] {
                  std::erase_if(objects,
                                [&](const auto& one) { return !named_.contains(one.first); });
                  log += "]";
                },
            .upsert =
                [this](const ObjectHead& head, std::string_view object) {
                  objects[head.name] = object;
                  named_.insert(head.name);
                  log += "+" + head.name;
                },
            .remove =
                [this](const ObjectHead& head, std::string_view) {
                  objects.erase(head.name);
                  log += "-" + head.name;
                },
            .synced = [this] { log += "S"; },
            .trouble = [this](const WatchTrouble& said) { troubles.push_back(said); }};
  }
  std::string taken() { return std::exchange(log, {}); }

  std::map<std::string, std::string> objects;
  std::string log;
  std::vector<WatchTrouble> troubles;

 private:
  std::set<std::string> named_;
};

}  // namespace tutti::test
