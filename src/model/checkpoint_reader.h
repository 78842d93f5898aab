/// Makes a State from the bytes of a checkpoint. Private to model/.
#pragma once

#include <string>
#include <vector>

#include "model/checkpoint_specs.h"

namespace tutti {

class StateReader {
 public:
  StateReader(CheckpointReader& from, State& state) : from_(from), in_(from.in_), state_(state) {}

  Result<void> read();

  // What jobs' specs need.
  std::size_t shapes() const { return state_.shapes_.size(); }
  const TaskShape& shape(ShapeIndex index) const { return state_.shapes_[index.value()].spec; }
  std::size_t gang_shapes() const { return state_.gang_shapes_.size(); }
  const GangShape& shape(GangShapeIndex index) const { return state_.gang_shape(index); }

 private:
  void read_head();
  void read_fleet();
  void read_node(Fleet& fleet);
  void read_shapes();
  void read_gang_shape();
  Closeness read_closeness();
  void read_queues();
  void read_tables();
  template <class Table>
  void read_freed(Table& table, std::vector<bool>& taken);
  void read_job(JobIndex row);
  void make_rows(JobIndex row, const CheckpointReader::Specs::Job& spec);
  void read_gang(GangIndex gang);
  void read_task(Job& job, Gang& gang, TaskIndex task);
  void await_others(const Job& job);
  void read_timers();
  void read_ends();
  void read_mix();
  void book();
  void hold(const Task& task);
  void charge(const Task& task);
  bool take(std::vector<bool>& taken, std::uint64_t first, std::uint64_t count);
  bool refuse(std::string what) {
    in_.refuse(std::move(what));
    return false;
  }

  CheckpointReader& from_;
  BytesIn& in_;
  State& state_;
  std::vector<bool> gangs_taken_;  ///< Rows that are free, or have their owner.
  std::vector<bool> tasks_taken_;
  std::vector<std::size_t> queue_lanes_;
};

}  // namespace tutti
