#include "backend/local/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace tutti {
namespace {

constexpr const char* socket_name = "terminal";
constexpr char typed = 'i';
constexpr char resized = 'w';
constexpr char end_of_input = 'e';
constexpr char signalled = 's';

/// The socket by way of the folder that is held open: a path of its own may be too long for one.
sockaddr_un address_in(const OpenFolder& folder) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(folder.get()) + "/" + socket_name;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Descriptor new_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

winsize size_of(const TerminalOrder& order) {
  winsize size{};
  size.ws_row = order.rows;
  size.ws_col = order.columns;
  return size;
}

ssize_t send_packet(const Descriptor& socket, std::string_view packet) {
  return uninterrupted(
      [&] { return ::send(socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL); });
}

}  // namespace

// --- The keeper's side --------------------------------------------------------------------------

Result<std::string> Terminal::open_terminal(const TerminalOrder& order) {
  terminal_ = Descriptor(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, 64> name{};
  if (!terminal_.valid() || ::grantpt(terminal_.get()) != 0 || ::unlockpt(terminal_.get()) != 0 ||
      ::ptsname_r(terminal_.get(), name.data(), name.size()) != 0) {
    return fail(system_error({}, "make a terminal", errno));
  }
  task_input_ = Descriptor(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  const winsize size = size_of(order);
  if (!task_input_.valid() || ::ioctl(terminal_.get(), TIOCSWINSZ, &size) != 0) {
    return fail(system_error(name.data(), "make it the task's terminal", errno));
  }
  return name.data();
}

Result<void> Terminal::open_pipes() {
  Pipe typed_to = TRY(make_pipe());
  Pipe shown_by = TRY(make_pipe());
  for (const Descriptor* ours : {&typed_to.write, &shown_by.read}) {
    ::fcntl(ours->get(), F_SETFL, O_NONBLOCK);
  }
  task_input_ = std::move(typed_to.read);
  terminal_ = std::move(typed_to.write);
  task_output_ = std::move(shown_by.write);
  shown_ = std::move(shown_by.read);
  return {};
}

Result<Terminal> Terminal::open(const TerminalOrder& order, const std::optional<TaskUser>& user,
                                const OpenFolder& folder) {
  Terminal out;
  out.pipes_ = order.pipes;
  std::string name;
  if (order.pipes) {
    TRY(out.open_pipes());
  } else {
    name = TRY(out.open_terminal(order));
  }
  // Programs open their streams again by name, for which the user must own them.
  for (const Descriptor* each : {&out.task_input_, &out.task_output_}) {
    if (user && ::geteuid() == 0 && each->valid() &&
        ::fchown(each->get(), user->uid, user->gid) != 0) {
      return fail(system_error(name, "give its streams to its user", errno));
    }
  }
  out.door_ = new_socket();
  const sockaddr_un address = address_in(folder);
  if (!out.door_.valid() ||
      ::bind(out.door_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(out.door_.get(), 8) != 0) {
    return fail(system_error(folder.path_of(socket_name), "listen on it", errno));
  }
  return out;
}

Result<Descriptor> Terminal::output() const {
  const Descriptor& from = pipes_ ? shown_ : terminal_;
  Descriptor again(::fcntl(from.get(), F_DUPFD_CLOEXEC, 3));
  if (!again.valid()) return fail(system_error({}, "read from the terminal", errno));
  return again;
}

void Terminal::show(std::string_view bytes) {
  recent_ += bytes;
  if (recent_.size() > recent_bytes && !is_unseen())
    recent_.erase(0, recent_.size() - recent_bytes);
  if (!viewer_.valid()) return;
  if (unsent_.empty()) behind_since_ = steady_time();
  unsent_ += bytes;
  send(pipes_ ? Duration::max() : patience);
}

void Terminal::add_wanted(std::vector<pollfd>& wanted) const {
  const auto add = [&](const Descriptor& descriptor, int events) {
    wanted.push_back({.fd = descriptor.get(), .events = static_cast<short>(events), .revents = 0});
  };
  add(door_, POLLIN);
  add(viewer_, (untyped_.empty() ? POLLIN : 0) | (unsent_.empty() ? 0 : POLLOUT));
  if (!untyped_.empty()) add(terminal_, POLLOUT);
}

void Terminal::serve() {
  let_in();
  send(pipes_ ? Duration::max() : patience);
  type();
  receive();
}

void Terminal::let_in() {
  Descriptor next(::accept4(door_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!next.valid()) return;
  show_out();
  viewer_ = std::move(next);
  unsent_ = recent_;
  seen_ = true;
  behind_since_ = steady_time();
}

void Terminal::send(Duration patience_now) {
  while (viewer_.valid() && !unsent_.empty()) {
    const ssize_t sent = send_packet(viewer_, std::string_view(unsent_).substr(0, packet_bytes));
    if (sent > 0) {
      unsent_.erase(0, static_cast<std::size_t>(sent));
      behind_since_ = steady_time();
    } else if (errno != EAGAIN || steady_time() - behind_since_ > patience_now) {
      show_out();
    } else {
      return;
    }
  }
}

void Terminal::receive() {
  std::array<char, packet_bytes + 1> packet;  // NOLINT: filled by recv.
  while (viewer_.valid() && untyped_.empty()) {
    const ssize_t got =
        uninterrupted([&] { return ::recv(viewer_.get(), packet.data(), packet.size(), 0); });
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return show_out();
    const std::string_view content(packet.data() + 1, static_cast<std::size_t>(got) - 1);
    winsize size{};
    if (packet[0] == typed) {
      untyped_ = content;
      type();
    } else if (packet[0] == resized && content.size() == sizeof size) {
      std::memcpy(&size, content.data(), sizeof size);
      ::ioctl(terminal_.get(), TIOCSWINSZ, &size);
    } else if (packet[0] == end_of_input) {
      typed_all_ = true;
      type();
    } else if (packet[0] == signalled && content.size() == 1) {
      signals_.push_back(content[0]);
    }
  }
}

void Terminal::type() {
  while (!untyped_.empty()) {
    const ssize_t written =
        uninterrupted([&] { return ::write(terminal_.get(), untyped_.data(), untyped_.size()); });
    if (written < 0 && errno == EAGAIN) return;
    // Nobody will ever read it.
    if (written <= 0) return untyped_.clear();
    untyped_.erase(0, static_cast<std::size_t>(written));
  }
  if (typed_all_ && pipes_) terminal_.close();
}

void Terminal::show_out() {
  viewer_.close();
  unsent_.clear();
}

bool Terminal::flush(bool hurry) {
  let_in();
  send(pipes_ && !hurry ? Duration::max() : patience);
  if (over_since_ == Instant{}) over_since_ = steady_time();
  const bool expected =
      !seen_ && !recent_.empty() && !hurry && steady_time() - over_since_ < patience_for_the_first;
  if (!is_behind() && !expected) return true;
  std::array<pollfd, 2> wanted{
      pollfd{.fd = viewer_.get(), .events = POLLOUT, .revents = 0},
      pollfd{.fd = expected ? door_.get() : -1, .events = POLLIN, .revents = 0}};
  if (!is_behind()) wanted[0].fd = -1;
  ::poll(wanted.data(), wanted.size(), 1000);
  return false;
}

// --- A viewer's side ----------------------------------------------------------------------------

Result<TerminalView> TerminalView::open(const OpenFolder& folder) {
  Descriptor socket = new_socket();
  const sockaddr_un address = address_in(folder);
  if (!socket.valid() ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(
        system_error(folder.path_of(socket_name), "look at the terminal of this task", errno));
  }
  return TerminalView(std::move(socket));
}

std::optional<std::string> TerminalView::output() {
  std::string out;
  std::array<char, std::size_t{64} << 10U> packet;  // NOLINT: filled by recv.
  for (int packets = 0; packets < 16; ++packets) {
    const ssize_t got =
        uninterrupted([&] { return ::recv(socket_.get(), packet.data(), packet.size(), 0); });
    if (got <= 0 && !out.empty()) return out;
    if (got < 0 && errno == EAGAIN) return out;
    if (got <= 0) return std::nullopt;
    out.append(packet.data(), static_cast<std::size_t>(got));
  }
  return out;
}

std::size_t TerminalView::input(std::string_view bytes) {
  constexpr std::size_t most = std::size_t{16} << 10U;
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const std::string packet = typed + std::string(bytes.substr(taken, most));
    if (send_packet(socket_, packet) < 0) break;
    taken += packet.size() - 1;
  }
  return taken;
}

void TerminalView::resize(const TerminalOrder& order) {
  const winsize size = size_of(order);
  std::string packet(1 + sizeof size, resized);
  std::memcpy(packet.data() + 1, &size, sizeof size);
  send_packet(socket_, packet);
}

void TerminalView::end_input() { send_packet(socket_, {&end_of_input, 1}); }

void TerminalView::signal(int number) {
  send_packet(socket_, std::string{signalled, static_cast<char>(number)});
}

}  // namespace tutti
