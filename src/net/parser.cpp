// The only file that knows Beast.
#include "net/parser.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <utility>

#include "base/check.h"
#include "net/url.h"

namespace tutti::net {
namespace {

namespace http = boost::beast::http;
using ErrorCode = boost::beast::error_code;
using Text = boost::beast::string_view;

/// Memory for a body is taken as it comes, not as it is announced.
constexpr std::size_t reserve_at_most = 64 << 10U;

std::string_view view(Text text) { return {text.data(), text.size()}; }

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text,
                             [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 127; });
}

/// Is there a whole line that begins the header of a chunk, and a quote in it that is not closed?
bool has_open_quote(std::string_view bytes) {
  if (bytes.starts_with("\r\n")) bytes.remove_prefix(2);
  const std::size_t end = bytes.find("\r\n");
  return end != std::string_view::npos && std::ranges::count(bytes.substr(0, end), '"') % 2 != 0;
}

/// What Beast calls back, collected: the same for requests and responses.
template <bool is_request>
class Collector : public http::basic_parser<is_request> {
 public:
  Headers headers;

 protected:
  virtual void body(std::string_view piece) = 0;

  std::size_t put_bytes(std::string_view bytes, ErrorCode& error) {
    // Beast asserts that it never sees less of the end of chunks; no whole message ends in less.
    constexpr std::size_t last_chunk = std::string_view("0\r\n\r\n").size();
    if (Base::is_header_done() && Base::chunked() && bytes.size() < last_chunk) {
      error = http::error::need_more;
      return 0;
    }
    const std::size_t used =
        Base::put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    // Beast would look for the other quote in the lines that follow, and count the chunk again.
    if (error == http::error::need_more && Base::is_header_done() && Base::chunked() &&
        has_open_quote(bytes.substr(used))) {
      error = http::error::bad_chunk_extension;
    }
    return used;
  }

 private:
  using Base = http::basic_parser<is_request>;

  void on_field_impl(http::field, Text name, Text value, ErrorCode&) final {
    if (!Base::is_header_done()) headers.add(view(name), view(value));  // Trailers are dropped.
  }
  void on_header_impl(ErrorCode&) final {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) final {}
  std::size_t on_body_impl(Text piece, ErrorCode&) final {
    body(view(piece));
    return piece.size();
  }
  void on_chunk_header_impl(std::uint64_t, Text extension, ErrorCode& error) final {
    if (has_control(view(extension))) error = http::error::bad_chunk_extension;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, Text piece, ErrorCode&) final {
    body(view(piece));
    return piece.size();
  }
  void on_finish_impl(ErrorCode&) final {}
};

/// Finds the end of a head, and what Beast would let pass in it.
class HeadScan {
 public:
  /// The size of the head, or 0 if its end is not there yet. Looks at no byte twice.
  Result<std::size_t> find_end(std::string_view bytes) {
    for (;;) {
      const std::size_t end = bytes.find('\n', scanned_);
      if (end == std::string_view::npos) break;
      if (end == 0 || bytes[end - 1] != '\r') return bad("a line ends in LF without CR");
      if (end - 1 == line_) return end + 1;
      if (line_ > 0 && (bytes[line_] == ' ' || bytes[line_] == '\t')) {
        return bad("a header goes on in a second line");
      }
      line_ = scanned_ = end + 1;
    }
    scanned_ = bytes.size();
    return std::size_t{0};
  }
  bool in_first_line() const { return line_ == 0; }

 private:
  static std::unexpected<Error> bad(std::string what) {
    return fail(Code::invalid, std::move(what));
  }

  std::size_t scanned_ = 0;
  std::size_t line_ = 0;  ///< Where the current line starts.
};

}  // namespace

// --- Requests -----------------------------------------------------------------------------------

class RequestParser::Message final : public Collector<true> {
 public:
  explicit Message(const Limits& limits) : limits_(limits) {
    eager(true);
    header_limit(static_cast<std::uint32_t>(limits.header_bytes + 1));
    body_limit(limits.body_bytes);
  }

  std::size_t feed(std::string_view bytes) {
    CHECK(stage == Stage::head || stage == Stage::body);
    std::size_t used = 0;
    if (stage == Stage::head) {
      used = skip_empty_line(bytes);
      const std::size_t head = end_of_head(bytes.substr(used));
      if (head == 0) return used;
      put_some(bytes.substr(used, head));
      used += head;
      if (stage == Stage::head) refuse("this is no HTTP request");  // It was the whole head.
      if (stage != Stage::refused) check_head();
    }
    if (stage == Stage::body && used < bytes.size()) used += put_body(bytes.substr(used));
    return used;
  }

  Stage stage = Stage::head;
  Refusal refusal;
  Request request;
  bool awaits_continue = false;
  bool knows_chunks = false;

 private:
  void on_request_impl(http::verb, Text method, Text target, int version, ErrorCode&) final {
    request.method = view(method);
    request.target = view(target);
    knows_chunks = version >= 11;
  }
  void on_response_impl(int, Text, int, ErrorCode&) final {}
  void body(std::string_view piece) final { request.body += piece; }

  void refuse(int status, std::string_view code, std::string message) {
    stage = Stage::refused;
    refusal = {.status = status, .code = std::string(code), .message = std::move(message)};
  }
  void refuse(std::string message) { refuse(400, "bad_request", std::move(message)); }

  /// One is allowed before a request: some clients send it behind the body of the one before.
  std::size_t skip_empty_line(std::string_view bytes) {
    if (!at_start_ || !bytes.starts_with("\r\n")) return 0;
    at_start_ = false;
    return 2;
  }

  std::size_t end_of_head(std::string_view bytes) {
    if (bytes.empty() || bytes == "\r") return 0;
    at_start_ = false;
    const Result<std::size_t> found = scan_.find_end(bytes);
    if (!found) {
      refuse(found.error().what);
      return 0;
    }
    const std::size_t size = *found > 0 ? *found : bytes.size() + 1;
    if (size <= limits_.header_bytes) return *found;
    const std::string limit = std::to_string(limits_.header_bytes);
    if (scan_.in_first_line()) {
      refuse(414, "target_too_long", "the request line has more than " + limit + " bytes");
    } else {
      refuse(431, "header_too_large", "the headers have more than " + limit + " bytes");
    }
    return 0;
  }

  std::size_t put_body(std::string_view bytes) {
    const std::size_t used = put_some(bytes);
    if (stage == Stage::body && bytes.size() - used > limits_.header_bytes) {
      refuse("the header of a chunk, or what follows the last one, is too long");
    }
    return used;
  }

  std::size_t put_some(std::string_view bytes) {
    ErrorCode error;
    const std::size_t used = put_bytes(bytes, error);
    if (is_done()) {
      stage = Stage::done;
    } else if (is_header_done()) {
      stage = Stage::body;
    }
    if (error && error != http::error::need_more) refuse_because(error);
    return used;
  }

  void refuse_because(const ErrorCode& error) {
    if (error == http::error::body_limit) return refuse_body();
    if (error == http::error::bad_version) {
      return refuse(505, "http_version_not_supported",
                    "only HTTP/1.0 and HTTP/1.1 are spoken here");
    }
    if (error == http::error::bad_content_length || error == http::error::multiple_content_length ||
        error == http::error::bad_transfer_encoding) {
      return refuse("the length of the body is given wrongly, or in two ways");
    }
    refuse("this is no HTTP request: " + error.message());
  }

  void refuse_body() {
    refuse(413, "body_too_large",
           "the body has more than " + std::to_string(limits_.body_bytes) + " bytes");
  }

  void check_head() {
    request.headers = std::move(headers);
    const Headers& all = request.headers;
    if (const auto length = all.find("Content-Length")) {
      if (all.count("Content-Length") > 1 || !is_number(*length)) {
        return refuse("Content-Length must stand there once, as a number");
      }
    }
    if (const auto coding = all.find("Transfer-Encoding")) {
      if (!knows_chunks || all.count("Transfer-Encoding") > 1) {
        return refuse("Transfer-Encoding must stand there once, and only in HTTP/1.1");
      }
      if (!equal_ignoring_case(*coding, "chunked")) {
        return refuse(501, "not_implemented", "the only Transfer-Encoding known is \"chunked\"");
      }
    }
    if (all.count("Host") != 1 && (knows_chunks || all.count("Host") > 1)) {
      return refuse("there must be one header Host");
    }
    if (const auto expected = all.find("Expect"); expected && knows_chunks) {
      if (!equal_ignoring_case(*expected, "100-continue")) {
        return refuse(417, "expectation_failed", "the only expectation known is \"100-continue\"");
      }
      awaits_continue = stage == Stage::body;
    }
    if (const auto length = content_length()) {
      request.body.reserve(std::min<std::uint64_t>(*length, reserve_at_most));
    }
    read_target();
  }

  void read_target() {
    if (request.target == "*" && request.method == "OPTIONS") {
      request.path = "*";
      return;
    }
    if (!request.target.starts_with('/')) {
      auto url = Url::parse(request.target);  // As a proxy would be asked.
      if (!url || url->scheme == Url::Scheme::unix_socket) {
        return refuse("what is asked for must start with \"/\"");
      }
      request.target = std::move(url->target);
    }
    const std::string_view target = request.target;
    const std::size_t question = std::min(target.find('?'), target.size());
    auto path = percent_decode(target.substr(0, question));
    if (!path) return refuse("in the path, " + path.error().what);
    request.path = *std::move(path);
    auto query = parse_query(target.substr(std::min(question + 1, target.size())));
    if (!query) return refuse("in the query, " + query.error().what);
    request.query = *std::move(query);
  }

  Limits limits_;
  HeadScan scan_;
  bool at_start_ = true;
};

RequestParser::RequestParser(const Limits& limits) : message_(std::make_unique<Message>(limits)) {}
RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;
RequestParser::~RequestParser() = default;

std::size_t RequestParser::feed(std::string_view bytes) { return message_->feed(bytes); }
Stage RequestParser::stage() const { return message_->stage; }
const Refusal& RequestParser::refusal() const { return message_->refusal; }
bool RequestParser::awaits_continue() const { return message_->awaits_continue; }
bool RequestParser::keep_alive() const { return message_->keep_alive(); }
bool RequestParser::knows_chunks() const { return message_->knows_chunks; }
std::size_t RequestParser::body_bytes() const { return message_->request.body.size(); }

Request RequestParser::take() {
  CHECK(stage() == Stage::done);
  return std::move(message_->request);
}

// --- Responses ----------------------------------------------------------------------------------

class ResponseParser::Message final : public Collector<false> {
 public:
  Message(bool to_head, std::size_t header_bytes, Sink sink)
      : header_bytes_(header_bytes), to_head_(to_head), sink_(std::move(sink)) {
    header_limit(static_cast<std::uint32_t>(header_bytes));
    body_limit(boost::none);
    skip(to_head);
  }

  std::size_t feed(std::string_view bytes) {
    CHECK(stage == Stage::head || stage == Stage::body);
    eager(stage == Stage::body);
    ErrorCode error;
    const std::size_t used = put_bytes(bytes, error);
    if (error && error != http::error::need_more) {
      refuse(error.message());
    } else if (bytes.size() - used > header_bytes_ && error) {
      refuse("the header of a chunk is too long");
    } else {
      advance();
    }
    return used;
  }

  void end() {
    ErrorCode error;
    if (got_some()) put_eof(error);
    if (!got_some() || error) {
      stage = Stage::refused;
      failure = "the connection ended in the middle of the answer";
    } else {
      advance();
    }
  }

  bool interim() const { return is_done() && head.status / 100 == 1 && head.status != 101; }
  /// A fresh one for the response that follows an interim one.
  std::unique_ptr<Message> next() {
    return std::make_unique<Message>(to_head_, header_bytes_, std::move(sink_));
  }

  Stage stage = Stage::head;
  Response head;
  std::string failure;

 private:
  void on_request_impl(http::verb, Text, Text, int, ErrorCode&) final {}
  void on_response_impl(int status, Text, int, ErrorCode&) final { head.status = status; }
  void body(std::string_view piece) final { sink_(piece); }

  void advance() {
    if (stage == Stage::head && is_header_done()) {
      head.headers = std::move(headers);
      stage = Stage::body;
    }
    if (is_done()) stage = Stage::done;
  }
  void refuse(const std::string& why) {
    stage = Stage::refused;
    failure = "the answer is no HTTP: " + why;
  }

  std::size_t header_bytes_;
  bool to_head_;
  Sink sink_;
};

ResponseParser::ResponseParser(bool to_head, std::size_t header_bytes, Sink body)
    : message_(std::make_unique<Message>(to_head, header_bytes, std::move(body))) {}
ResponseParser::ResponseParser(ResponseParser&&) noexcept = default;
ResponseParser& ResponseParser::operator=(ResponseParser&&) noexcept = default;
ResponseParser::~ResponseParser() = default;

std::size_t ResponseParser::feed(std::string_view bytes) {
  std::size_t used = message_->feed(bytes);
  while (message_->interim()) {
    message_ = message_->next();
    if (used < bytes.size()) used += message_->feed(bytes.substr(used));
  }
  return used;
}

void ResponseParser::end() { message_->end(); }
Stage ResponseParser::stage() const { return message_->stage; }
const std::string& ResponseParser::error() const { return message_->failure; }
bool ResponseParser::keep_alive() const { return message_->keep_alive(); }
Response& ResponseParser::head() { return message_->head; }

}  // namespace tutti::net
