/// What readers of a server are shown, as it follows from the journal or from a checkpoint.
#pragma once

#include <utility>

#include "api/event_feed.h"
#include "api/happening.h"
#include "api/job_table.h"
#include "api/request_keys.h"
#include "ledger/meter.h"
#include "store/restore.h"

namespace tutti {

class Shown final : public Companion {
 public:
  explicit Shown(JobTable::Keeping keeping) : jobs(keeping) {}

  JobTable jobs;
  RequestKeys requests;
  Meter meter;
  EventFeed* feed = nullptr;  ///< Told too, where there is one.

  void note(const Happening& happening) {
    if (feed != nullptr) {
      feed->apply(happening);
    } else {
      jobs.apply(happening);
    }
    requests.apply(happening);
    meter.apply(happening.at, happening.moves, happening.begun);
    jobs.forget(happening.at);
  }

  void happened(JournalRow row, const Event& event, const State& state) override {
    one_.happened(row, event, state);
    for (const Happening& each : one_.take()) note(each);
  }
  Result<void> read(CheckpointReader& from, JournalRow row) override {
    clear();
    TRY(jobs.read(from));
    TRY(requests.read(from));
    TRY(meter.read(from));
    if (feed != nullptr) feed->begin_after(row);
    return {};
  }
  void clear() override {
    jobs = JobTable(jobs.keeping());
    requests = {};
    meter = {};
  }
  void write(CheckpointWriter& to) const {
    jobs.write(to);
    requests.write(to);
    meter.write(to);
  }

 private:
  Happenings one_;
};

}  // namespace tutti
