/// Jobs' specs in a checkpoint: each stands where it is met first, and is a number afterwards.
/// Private to model/.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "model/checkpoint.h"
#include "model/checkpoint_fields.h"

namespace tutti {

/// Jobs are known by their address, gangs by what they say: those of one batch are often equal.
class CheckpointWriter::Specs final : public codec::BytesWriter {
 public:
  explicit Specs(const State& state) : state_(state) {}

  void write_job(BytesOut& out, const std::shared_ptr<const JobSpec>& job);

 private:
  void write_shape(BytesOut& out, const TaskShape& shape) override;
  void write_gang(BytesOut& out, const std::shared_ptr<const GangSpec>& gang) override;

  const State& state_;
  std::map<const JobSpec*, std::uint64_t> jobs_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> gangs_by_hash_;
  std::vector<std::shared_ptr<const GangSpec>> gangs_;
};

class CheckpointReader::Specs final : public codec::FieldReader {
 public:
  struct Gang {
    std::shared_ptr<const GangSpec> spec;
    GangShapeIndex shape;
  };
  struct Job {
    std::shared_ptr<const JobSpec> spec;
    std::vector<std::uint32_t> gangs;  ///< Rows of gangs().
  };

  /// `state` has the shapes.
  Specs(BytesIn& in, StateReader& state) : FieldReader(in), in_(in), state_(state) {}

  /// Null where something is wrong.
  const Job* read_job();
  const Gang& gang(std::uint32_t row) const { return gangs_[row]; }

 private:
  void read_shape(TaskShape& shape) override;
  void read_gang(std::shared_ptr<const GangSpec>& gang) override;
  bool has_shape(const GangSpec& gang, const GangShape& shape) const;

  BytesIn& in_;
  StateReader& state_;
  std::vector<Gang> gangs_;
  std::vector<Job> jobs_;
  std::vector<std::uint32_t> met_;      ///< Gangs of the job that is being read.
  std::vector<ShapeIndex> shapes_met_;  ///< Of the roles of the gang that is being read.
};

}  // namespace tutti
