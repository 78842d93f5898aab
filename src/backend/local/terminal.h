/// A terminal for a task, and the way to it from outside: for what people run by hand.
///
/// The keeper holds the terminal, and a socket in the task folder on which one viewer at a time is
/// let in, the last who came. A viewer first gets what was shown lately, then all that is shown;
/// what it sends is typed. One that is too slow holds the task up, for two seconds, then is shown
/// out: the task goes on without it. What is shown is kept in the output file too.
///
/// On the socket, each packet to the keeper is 'i' and bytes that are typed, or 'w' and a size;
/// each packet from it is output, and its end is the end of the task.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <string_view>
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
  int task_end() const { return task_end_.get(); }
  void begin() { task_end_.close(); }
  /// Another descriptor from which to read what is shown.
  Result<Descriptor> output() const;

  /// Is a viewer so far behind that nothing more should be shown to it now?
  bool is_behind() const { return !unsent_.empty(); }
  void show(std::string_view bytes);
  /// Adds what it waits for. While a viewer is behind, `serve` is to be called every second.
  void add_wanted(std::vector<pollfd>& wanted) const;
  /// Does what can be done without waiting.
  void serve();
  /// Waits until the viewer has got all, or has proved too slow.
  void flush();

 private:
  static constexpr std::size_t recent_bytes = std::size_t{64} << 10U;
  static constexpr std::size_t packet_bytes = std::size_t{32} << 10U;
  static constexpr Duration patience = Duration::seconds(2);

  void let_in();
  void send();
  void receive();
  void type();
  void show_out();

  Descriptor terminal_;
  Descriptor task_end_;
  Descriptor door_;
  Descriptor viewer_;
  std::string recent_;    ///< Shown last, for the next viewer.
  std::string unsent_;    ///< To the viewer.
  Instant behind_since_;  ///< Steady time, while something is unsent.
  std::string untyped_;   ///< From the viewer.
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

 private:
  explicit TerminalView(Descriptor socket) : socket_(std::move(socket)) {}
  Descriptor socket_;
};

}  // namespace tutti
