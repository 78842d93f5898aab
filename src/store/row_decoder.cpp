#include "store/row_decoder.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "model/codec.h"

namespace tutti {
namespace {

constexpr std::size_t batch_rows = 512;
constexpr std::size_t batches_most = 32;  ///< Read, and not yet taken: a few MB.
constexpr unsigned decoders_most = 4;

struct Batch {
  std::uint64_t first = 0;
  std::vector<std::string> lines;
  std::vector<std::pair<Event, Instant>> events;
  std::optional<Error> error;  ///< Of the row behind the last event.
  bool taken = false;          ///< By a thread that decodes it.
  bool decoded = false;
};

/// What the threads share.
class Belt {
 public:
  explicit Belt(std::string path) : path_(std::move(path)) {}

  /// The reader's: false where nobody wants more.
  bool add(Batch batch) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return stopped_ || batches_.size() < batches_most; });
    if (stopped_) return false;
    batches_.push_back(std::move(batch));
    moved_.notify_all();
    return true;
  }
  void end_of_lines(std::optional<Error> error) {
    const std::scoped_lock lock(mutex_);
    read_error_ = std::move(error);
    all_read_ = true;
    moved_.notify_all();
  }
  /// A decoder's life.
  void decode() {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto undecoded = [&] { return std::ranges::find(batches_, false, &Batch::taken); };
      moved_.wait(lock, [&] { return stopped_ || all_read_ || undecoded() != batches_.end(); });
      const auto next = undecoded();
      if (stopped_ || next == batches_.end()) return;
      Batch& batch = *next;  // Stays where it is while others come and go at the ends.
      batch.taken = true;
      lock.unlock();
      decode(batch);
      lock.lock();
      batch.decoded = true;
      moved_.notify_all();
    }
  }
  /// The consumer's: the next batch, or none after the last one.
  std::optional<Batch> take() {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return batches_.empty() ? all_read_ : batches_.front().decoded; });
    if (batches_.empty()) return std::nullopt;
    Batch batch = std::move(batches_.front());
    batches_.pop_front();
    moved_.notify_all();
    return batch;
  }
  void stop() {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    moved_.notify_all();
  }
  /// Once nothing is left.
  std::optional<Error> read_error() const { return read_error_; }

 private:
  void decode(Batch& batch) const {
    batch.events.reserve(batch.lines.size());
    for (const std::string& line : batch.lines) {
      auto decoded = decode_event(line);
      if (!decoded) {
        const std::uint64_t row = batch.first + batch.events.size();
        batch.error = std::move(decoded).error().at(path_ + ": row " + std::to_string(row));
        return;
      }
      batch.events.push_back(*std::move(decoded));
    }
  }

  std::string path_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::deque<Batch> batches_;
  bool all_read_ = false;
  bool stopped_ = false;
  std::optional<Error> read_error_;
};

/// Reads to the end, or until nobody wants more.
void read_all(Belt& belt, const RowDecoder::Read& read) {
  Batch batch;
  bool wanted = true;
  auto done = read([&](std::uint64_t row, const std::string& line) -> Result<void> {
    if (batch.lines.empty()) batch.first = row;
    batch.lines.push_back(line);
    if (batch.lines.size() < batch_rows) return {};
    wanted = belt.add(std::exchange(batch, {}));
    if (wanted) return {};
    return fail(Code::conflict, "nobody wants more");
  });
  if (wanted && !batch.lines.empty()) belt.add(std::move(batch));
  belt.end_of_lines(done ? std::nullopt : std::optional(std::move(done).error()));
}

Result<void> visit_all(Belt& belt, const RowDecoder::Visit& visit) {
  while (const auto batch = belt.take()) {
    std::uint64_t row = batch->first;
    for (const auto& [event, at] : batch->events) TRY(visit(row++, event, at));
    if (batch->error) return fail(*batch->error);
  }
  if (const auto error = belt.read_error()) return fail(*error);
  return {};
}

}  // namespace

Result<void> RowDecoder::run(const std::string& path, const Read& read, const Visit& visit) {
  Belt belt(path);
  std::vector<std::jthread> threads;
  threads.emplace_back([&] { read_all(belt, read); });
  const unsigned decoders = std::clamp(std::thread::hardware_concurrency(), 1U, decoders_most);
  for (unsigned at = 0; at < decoders; ++at) threads.emplace_back([&] { belt.decode(); });
  auto done = visit_all(belt, visit);
  belt.stop();
  return done;
}

}  // namespace tutti
