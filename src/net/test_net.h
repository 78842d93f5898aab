/// For the tests of net/: a server in a thread of its own, and a client that sends any bytes.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "net/descriptor.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "net/socket.h"

namespace tutti::net::test {

/// A new folder with a short name, because paths of sockets are; gone with this object.
class Folder {
 public:
  Folder() {
    std::string name = "/tmp/tutti-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

/// Runs a loop in a thread.
class LoopThread {
 public:
  LoopThread() : thread_([this] { loop.run(); }) {}
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;
  ~LoopThread() { join(); }

  void join() {
    if (!thread_.joinable()) return;
    loop.stop();
    thread_.join();
  }

  /// Runs `what` on the loop's thread and waits for its result.
  template <class What>
  auto call(What what) {
    std::packaged_task<decltype(what())()> task(std::move(what));
    auto result = task.get_future();
    loop.post([&] { task(); });
    return result.get();
  }

  EventLoop loop;

 private:
  std::thread thread_;
};

/// A server in a thread, listening at `url` (TCP, any port) unless told otherwise.
class TestServer {
 public:
  explicit TestServer(HttpServer::OnRequest on_request, ServerSettings settings = {},
                      const ListenAt& at = {.address = "127.0.0.1:0"}) {
    auto got = thread.call([&] {
      server = std::make_unique<HttpServer>(thread.loop, settings, std::move(on_request));
      return server->listen(at);
    });
    EXPECT_TRUE(got.has_value()) << got.error().text();
    if (got) url = *got;
  }
  ~TestServer() {
    thread.call([&] { server.reset(); });
    thread.join();
  }

  HttpServer::Counts counts() {
    return thread.call([&] { return server->counts(); });
  }

  LoopThread thread;
  std::unique_ptr<HttpServer> server;
  Url url;
};

/// Answers every request with its method, path, query and body.
inline void echo(const Request& request, Answer answer) {
  std::string text = request.method + " " + request.path;
  for (const auto& [name, value] : request.query) text += " " + name + "=" + value;
  if (!request.body.empty()) text += " [" + request.body + "]";
  answer.send({.body = std::move(text)});
}

/// A blocking connection that sends what it is told.
class RawClient {
 public:
  explicit RawClient(const Url& url) {
    Opened opened = url.scheme == Url::Scheme::unix_socket
                        ? connect_unix(url.socket)
                        : connect_tcp({.bytes = {127, 0, 0, 1}, .port = url.port});
    EXPECT_EQ(opened.error, 0);
    socket_ = std::move(opened.socket);
    wait_for(POLLOUT);
  }

  /// False when the other end takes no more.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno != EAGAIN || !wait_for(POLLOUT)) {
        return false;
      }
    }
    return true;
  }
  void end() { ::shutdown(socket_.get(), SHUT_WR); }

  /// Whatever comes next; empty at the end, and when nothing comes within `milliseconds`.
  std::string read_some(int milliseconds = 5'000) {
    char buffer[16'384];
    if (!wait_for(POLLIN, milliseconds)) return {};
    const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    closed_ = got <= 0;
    return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
  }
  /// Until the other end closes, or nothing comes for 5 s.
  std::string read_all() {
    std::string out;
    for (;;) {
      std::string more = read_some();
      if (more.empty()) return out;
      out += more;
    }
  }
  /// Until `text` has come (and maybe more), or nothing comes for 5 s.
  std::string read_until(std::string_view text) {
    std::string out;
    while (out.find(text) == std::string::npos) {
      std::string more = read_some();
      if (more.empty()) break;
      out += more;
    }
    return out;
  }
  /// Has the other end closed, once it has sent what it had to send?
  bool closed(int milliseconds = 5'000) {
    while (!closed_ && !read_some(milliseconds).empty()) continue;
    return closed_;
  }
  int descriptor() const { return socket_.get(); }

 private:
  bool wait_for(short what, int milliseconds = 5'000) const {
    pollfd one{.fd = socket_.get(), .events = what, .revents = 0};
    return ::poll(&one, 1, milliseconds) == 1;
  }

  Descriptor socket_;
  bool closed_ = false;
};

/// All that a server answers to `bytes`, sent at once, until it closes.
inline std::string exchange(const Url& url, std::string_view bytes) {
  RawClient client(url);
  client.send(bytes);
  client.end();
  return client.read_all();
}

/// The number of times that `what` stands in `text`.
inline std::size_t times(std::string_view text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + what.size())) {
    ++count;
  }
  return count;
}

}  // namespace tutti::net::test
