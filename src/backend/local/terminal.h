/// A terminal for a task, and the way to it from outside: for what people run by hand.
///
/// The keeper holds the terminal, and a socket in the task folder on which one viewer at a time is
/// let in, the last who came. A viewer first gets what was shown lately, then all that is shown;
/// what it sends is typed. One that is too slow holds the task up, for two seconds, then is shown
/// out: the task goes on without it. What is shown is kept in the output file too. A task that ends
/// before anybody has looked is over half a minute later, or when somebody did.
///
/// Instead of a terminal a task may have two pipes, as in a pipeline: then nothing that it writes
/// is lost, a viewer may take its time, and until the first one comes the task waits when it has
/// written much.
///
/// On the socket, each packet to the keeper is 'i' and bytes that are typed, 'w' and a size, 'e'
/// for the end of what is typed (of pipes), or 's' and a signal's number; each packet from it is
/// output, and its end is the end of the task.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/local/launch_order.h"
#include "backend/local/system.h"

namespace tutti {

/// The keeper's side.
class Terminal {
 public:
  /// Makes it, and the socket in `folder`.
  static Result<Terminal> open(const TerminalOrder& order, const std::optional<TaskUser>& user,
                               const OpenFolder& folder);

  /// What the task has as its streams; ours only until `begin`.
  int task_input() const { return task_input_.get(); }
  int task_output() const { return pipes_ ? task_output_.get() : task_input_.get(); }
  void begin() {
    task_input_.close();
    task_output_.close();
  }
  /// Another descriptor from which to read what is shown.
  Result<Descriptor> output() const;

  /// Is a viewer so far behind that nothing more should be shown to it now?
  bool is_behind() const { return !unsent_.empty(); }
  /// Should nothing more be read from the task now?
  bool is_full() const { return is_behind() || (is_unseen() && recent_.size() >= recent_bytes); }
  void show(std::string_view bytes);
  /// Adds what it waits for. While a viewer is behind, `serve` is to be called every second.
  void add_wanted(std::vector<pollfd>& wanted) const;
  /// Does what can be done without waiting.
  void serve();
  /// The task is over: waits a second at most for the viewer to take more, or for the first one to
  /// come. True when there is nothing left to wait for. In a hurry nobody has much time.
  bool flush(bool hurry);
  /// What whoever looks has sent to the task since the last time.
  std::vector<int> take_signals() { return std::exchange(signals_, {}); }

 private:
  static constexpr std::size_t recent_bytes = std::size_t{64} << 10U;
  static constexpr std::size_t packet_bytes = std::size_t{32} << 10U;
  static constexpr Duration patience = Duration::seconds(2);
  static constexpr Duration patience_for_the_first = Duration::seconds(30);

  /// Of pipes, before anybody has come.
  bool is_unseen() const { return pipes_ && !seen_; }
  Result<std::string> open_terminal(const TerminalOrder& order);
  Result<void> open_pipes();

  void let_in();
  void send(Duration patience_now);
  void receive();
  void type();
  void show_out();

  bool pipes_ = false;
  bool seen_ = false;       ///< Somebody has looked.
  bool typed_all_ = false;  ///< No more is typed.
  Descriptor terminal_;     ///< To type; of pipes, the end of the one that the task reads.
  Descriptor shown_;        ///< Of pipes: the end of the other one.
  Descriptor task_input_;
  Descriptor task_output_;  ///< Of pipes.
  Descriptor door_;
  Descriptor viewer_;
  std::string recent_;    ///< Shown last, for the next viewer.
  std::string unsent_;    ///< To the viewer.
  Instant behind_since_;  ///< Steady time, while something is unsent.
  Instant over_since_;    ///< Steady time, once the task is over.
  std::string untyped_;   ///< From the viewer.
  std::vector<int> signals_;
};

/// A viewer's side. Nothing here waits.
class TerminalView {
 public:
  static Result<TerminalView> open(const OpenFolder& folder);

  /// Readable when `output` has something, or the end.
  int fd() const { return socket_.get(); }
  /// What was shown since the last time, perhaps nothing; nullopt at the end.
  std::optional<std::string> output();
  /// Types the bytes; returns how many were taken, fewer than all while the task does not read.
  std::size_t input(std::string_view bytes);
  void resize(const TerminalOrder& size);
  /// No more is typed; a terminal knows no such thing.
  void end_input();
  /// To the first process and those that it has not sent elsewhere.
  void signal(int number);

 private:
  explicit TerminalView(Descriptor socket) : socket_(std::move(socket)) {}
  Descriptor socket_;
};

}  // namespace tutti
