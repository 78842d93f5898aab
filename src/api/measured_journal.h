/// A journal that notes how long its disk takes. Belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <span>

#include "api/metrics.h"
#include "engine/journal.h"
#include "net/event_loop.h"

namespace tutti {

class MeasuredJournal final : public Journal {
 public:
  explicit MeasuredJournal(Journal& journal) : journal_(journal) {}

  Result<void> append(std::span<const Event> events, Instant at) override {
    const Instant begin = net::EventLoop::now();
    Result<void> done = journal_.append(events, at);
    if (!events.empty()) commits_.add(net::EventLoop::now() - begin);
    return done;
  }
  const Histogram& commits() const { return commits_; }

 private:
  Journal& journal_;
  Histogram commits_;
};

}  // namespace tutti
