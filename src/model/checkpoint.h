/// A State as bytes and back, exactly: row numbers, free rows and interned shapes too, so that what
/// happens next happens in the same way. What follows from the rest is left out and made anew.
///
/// After the State others may write what they keep for it, in sections of their own; jobs' specs
/// are shared by all of them, and each is written once.
///
/// Reading checks everything: damaged bytes are an error with its place, and nothing of the State
/// is to be relied upon. Time and memory are linear in the bytes and in the State's rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "model/checkpoint_bytes.h"
#include "model/state.h"

namespace tutti {

class StateReader;

class CheckpointWriter {
 public:
  /// Grows when anything but the fields of structs changes its form (checkpoint_fields.h).
  static constexpr std::uint64_t format = 1;
  /// Takes the next piece.
  using Sink = std::function<void(std::string_view)>;

  /// Writes the State, which must outlive the writer.
  CheckpointWriter(const State& state, Sink sink);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// What follows belongs to that section.
  void begin(std::string_view section);
  BytesOut& out() { return out_; }
  void spec(const std::shared_ptr<const JobSpec>& spec);
  /// Something is complete: hands over what has gathered, once that is much.
  void flush_if_much();
  /// Last.
  void finish();

 private:
  class Specs;
  void write_state(const State& state);

  Sink sink_;
  BytesOut out_;
  std::unique_ptr<Specs> specs_;
};

class CheckpointReader {
 public:
  /// Rows of each table, at most: what a few bytes can claim to have been freed.
  static constexpr std::uint64_t rows_most = 200'000'000;

  /// The bytes must outlive the reader.
  explicit CheckpointReader(std::string_view bytes, std::uint64_t most = rows_most);
  ~CheckpointReader();
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  /// First, and once: into a new State, which must outlive the reader, unchanged.
  Result<void> read(State& state);

  /// Does that section follow? Then it is being read.
  bool begin(std::string_view section);
  BytesIn& in() { return in_; }
  std::shared_ptr<const JobSpec> spec();
  /// Last: was all of it right, and is nothing left?
  Result<void> finish();

 private:
  friend class StateReader;
  class Specs;

  BytesIn in_;
  std::uint64_t rows_most_ = rows_most;
  std::unique_ptr<StateReader> state_;
  std::unique_ptr<Specs> specs_;
};

}  // namespace tutti
