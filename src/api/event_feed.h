/// What happened, for whoever reads along: Server-Sent Events, written once for all readers.
///
///   id: 4711
///   event: job
///   data: {"row":4711,"at":"...","what":"started","job":"7","name":"train","queue":"default",...}
///
/// `id` is the number of a row of the journal: who has it, has all that happened up to that row.
/// Where a row tells of several jobs, all but the last message have the id of the row before, so
/// that a reader who was cut off between them gets the whole row again.
///
/// The newest rows are kept, so that who comes back goes on where he was; who comes too late, or
/// from another journal, gets `event: reset`. Readers who want the same share one hub, so a message
/// costs those whom it concerns. Belongs to the readers' thread.
#pragma once

#include <compare>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/job_table.h"
#include "net/event_loop.h"
#include "net/stream_hub.h"

namespace tutti {

class EventFeed {
 public:
  struct Limits {
    std::size_t rows = 32'768;     ///< That are kept ...
    std::size_t bytes = 8 << 20U;  ///< ... and their texts.
    Duration heart_beat = Duration::seconds(15);
  };
  /// What of it somebody wants; by itself, all.
  struct Filter {
    JobId job;  ///< Not valid: of any, and of nodes.
    std::string queue;
    friend auto operator<=>(const Filter&, const Filter&) = default;
  };
  /// Who reads, as far as it matters (access.h).
  struct Reader {
    std::vector<std::string> queues;  ///< To which he is bound; none: to none.
    std::string token;                ///< That let him in.
    friend auto operator<=>(const Reader&, const Reader&) = default;
  };
  struct Wish {
    Filter filter;
    Reader reader;
    JournalRow after = 0;  ///< Only what happened later.
    bool follow = true;    ///< Else it ends with what there is.
  };

  /// Keeps `jobs` up to date. Of a journal with so many rows only those are kept that will still be
  /// among the newest when all have been read.
  EventFeed(net::EventLoop& loop, JobTable& jobs, JournalRow rows, Limits limits);
  EventFeed(net::EventLoop& loop, JobTable& jobs, JournalRow rows)
      : EventFeed(loop, jobs, rows, Limits()) {}

  /// The table of jobs is as after that row; what happened before is not known.
  void begin_after(JournalRow row);

  /// Notes it in the table of jobs, and tells the readers.
  void apply(const Happening& happening);

  void add(net::OpenStream reader, const Wish& wish);
  /// With each heart beat, readers whose token is not good any more are cut off.
  void cut_off_unless(std::function<bool(const std::string& token)> good) {
    good_ = std::move(good);
  }
  /// The last row that was heard of.
  JournalRow newest() const { return newest_; }
  /// Everything after this row is kept.
  JournalRow complete_after() const { return complete_after_; }
  std::size_t readers() const;

 private:
  using Text = std::shared_ptr<const std::string>;
  /// One message of a row: where it stands in the row's text, without its id.
  struct Message {
    JobId job;  ///< Not valid for nodes.
    std::shared_ptr<const JobSpec> spec;
    std::size_t begin = 0;
    std::size_t end = 0;

    bool concerns(const Filter& filter) const;
    bool is_seen_by(const Reader& reader) const;
  };
  struct Row {
    JournalRow row = 0;
    std::vector<Message> messages;
    Text text;

    /// What of it is wanted by somebody who may see it; none where nothing is.
    Text matching(const Filter& filter, const Reader& reader) const;
  };
  /// Somebody who is still to get older rows.
  struct Late {
    net::OpenStream stream;
    Wish wish;
  };

  void keep(Row row);
  using Hubs = std::map<Filter, net::StreamHub>;
  static void publish(const Row& row, const Reader& reader, Hubs& hubs);
  bool knows(JournalRow row) const { return row >= complete_after_ && row <= newest_; }
  /// Hands over what is kept; true when the reader needs nothing more of that.
  bool catch_up(Late& late);
  void catch_up_soon();
  void beat();

  net::EventLoop& loop_;
  JobTable& jobs_;
  Limits limits_;
  JournalRow complete_after_ = 0;
  JournalRow newest_ = 0;
  std::size_t kept_bytes_ = 0;
  std::deque<Row> kept_;
  std::map<Reader, Hubs> hubs_;
  std::function<bool(const std::string& token)> good_;
  std::list<Late> late_;
  net::Timer catching_up_;
  net::Timer beating_;
};

}  // namespace tutti
