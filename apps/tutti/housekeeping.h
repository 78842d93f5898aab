/// What a server does beside its work so that it starts fast and its journal does not grow for
/// ever: orders checkpoints, drops rows that they stand for, and forgets jobs that ended long ago.
///
/// Belongs to the readers' thread; what concerns the journal and tasks is asked of the engine's.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/engine_thread.h"
#include "api/health_routes.h"
#include "net/descriptor.h"
#include "net/event_loop.h"
#include "store/journal_file.h"
#include "tutti/checkpoint.h"

namespace tutti {

class Housekeeping {
 public:
  struct Options {
    CheckpointOrder order;
    JournalRow every = 250'000;                                      ///< Rows.
    Duration history = Duration::seconds(std::int64_t{7} * 86'400);  ///< What of it stays.
  };
  struct Ports {
    net::EventLoop* loop = nullptr;
    EngineThread* engine = nullptr;
    JournalFile* journal = nullptr;  ///< The engine's thread has it.
    std::function<JournalRow()> newest;
    std::function<Instant()> clock;
    std::function<void()> forget;  ///< Jobs whose time is over.
  };

  Housekeeping(Options options, Ports ports);
  /// Ends a process that makes a checkpoint: the next one begins anew.
  ~Housekeeping();
  Housekeeping(const Housekeeping&) = delete;
  Housekeeping& operator=(const Housekeeping&) = delete;

  HealthRoutes::Checkpoints checkpoints() const { return {checkpoint_, failures_}; }

 private:
  void look();
  void order_checkpoint();
  void ended();
  void note_failure();
  void drop();

  Options options_;
  Ports ports_;
  JournalRow checkpoint_ = 0;         ///< The newest one's row ...
  JournalRow older_ = 0;              ///< ... and the row up to which others may go.
  std::optional<Instant> failed_at_;  ///< When the last one could not be made.
  std::uint64_t failures_ = 0;
  pid_t child_ = 0;
  net::Descriptor child_file_;
  std::optional<net::Watch> child_watch_;
  net::Timer looking_;
  net::Timer dropping_;
  /// What the engine's thread answers may come when this is gone.
  std::shared_ptr<Housekeeping*> self_;
};

}  // namespace tutti
