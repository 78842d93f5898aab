#include "sched/classes.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/limits.h"
#include "sched/fit.h"

namespace tutti {
namespace {

constexpr std::uint16_t no_class = 0xffff;

/// Nodes that stay warm: enough that one which is filled task by task is rated once, few enough
/// that looking at all of them costs less than a decision.
constexpr std::size_t warm_max = 64;

/// Best nodes that are offered to the filters that look at others, before all nodes are scanned.
constexpr std::size_t offers_max = 64;

template <class Each>
void for_each_bit(const Screen::Mask& mask, Each each) {
  for (unsigned word = 0; word < Screen::words; ++word) {
    for (std::uint64_t bits = mask[word]; bits != 0; bits &= bits - 1) {
      each(word * 64 + static_cast<unsigned>(std::countr_zero(bits)));
    }
  }
}

void set_bit(Screen::Mask& mask, unsigned number) {
  mask[number / 64] |= std::uint64_t{1} << number % 64;
}

void clear_bit(Screen::Mask& mask, unsigned number) {
  mask[number / 64] &= ~(std::uint64_t{1} << number % 64);
}

bool has_bit(const Screen::Mask& mask, unsigned number) {
  return (mask[number / 64] >> number % 64 & 1) != 0;
}

bool accepted(const std::vector<const Filter*>& filters, const TaskClass& task, const View& view,
              NodeIndex node) {
  return std::ranges::all_of(
      filters, [&](const Filter* filter) { return filter->check(task, view, node).ok(); });
}

}  // namespace

void Classes::reset(PolicySet policies, const View& view) {
  CHECK(!policies.scores.empty() && policies.device_score < policies.scores.size());
  const std::size_t nodes = view.fleet().size();
  for (const auto& row : rows_) {
    if (!row->task.tallies.empty()) forgotten_.push_back(row->task.shape);
  }
  rows_.clear();  // They point into the policies.
  policies_ = std::move(policies);
  shapes_ = view.state.shape_count();
  number_of_shape_.assign(shapes_, no_class);
  counted_by_shape_.clear();
  screen_.clear();
  bits_.assign(nodes, {});
  stale_.assign(nodes, 0);
  stale_nodes_.clear();
  warm_.assign(nodes, 0);
  warm_nodes_.clear();
  domains_.clear();
  all_nodes_.clear();
  for (std::size_t at = 0; at < nodes; ++at) all_nodes_.emplace_back(at);
}

// --- Rows ---------------------------------------------------------------------------------------

Classes::Row& Classes::row(const View& view, ShapeIndex shape) {
  CHECK(shape.value() < shapes_, shape, shapes_);
  if (const std::uint16_t number = number_of_shape_[shape.value()]; number != no_class) {
    Row& known = *rows_[number];
    known.task.row = &view.state.shape(shape);
    known.last_used = ++uses_;
    if (known.tallies_stale) {
      rare_paths_.count(RarePath::tallies_recounted);
      recount(view, known);
    }
    return known;
  }
  Row& row = new_row(shape);
  row.task.shape = shape;
  row.task.row = &view.state.shape(shape);
  row.last_used = ++uses_;
  choose_policies(row);
  for (const NodeIndex node : all_nodes_) describe(view, row, node);
  row.index.reset(all_nodes_.size());
  for (const Filter* filter : row.fleet_filters) {
    for (const Watch& watch : filter->watches(row.task)) tally_of(row, *filter, watch);
    for (const Watch& watch : filter->counts(row.task, row.task.spec())) {
      row.task.tallies[tally_of(row, *filter, watch)].count_self();
    }
  }
  for (std::size_t at = 0; at < shapes_; ++at) {
    watch_shape(row, ShapeIndex(at), view.state.shape(ShapeIndex(at)).spec);
  }
  recount(view, row);
  if (row.indexed) {
    screen_.set(row.number, *row.task.row);
    rate_all(view, row);
  }
  return row;
}

/// A row that is free, or becomes so: the one that was not used for longest.
Classes::Row& Classes::new_row(ShapeIndex shape) {
  std::size_t number = rows_.size();
  if (number < limits::classes) {
    rows_.push_back(std::make_unique<Row>());
  } else {
    const auto oldest =
        std::ranges::min_element(rows_, {}, [](const auto& row) { return row->last_used; });
    number = static_cast<std::size_t>(oldest - rows_.begin());
    rare_paths_.count(RarePath::class_evicted);
    forget(**oldest);
    *oldest = std::make_unique<Row>();
  }
  rows_[number]->number = static_cast<unsigned>(number);
  number_of_shape_[shape.value()] = static_cast<std::uint16_t>(number);
  return *rows_[number];
}

void Classes::forget(Row& row) {
  if (!row.task.tallies.empty()) forgotten_.push_back(row.task.shape);
  number_of_shape_[row.task.shape.value()] = no_class;
  screen_.unset(row.number);
  for (NodeBits& bits : bits_) {
    clear_bit(bits.rated, row.number);
    clear_bit(bits.to_rate, row.number);
  }
  for (std::vector<Counted>& tallies : counted_by_shape_) {
    std::erase_if(tallies, [&](const Counted& each) { return each.number == row.number; });
  }
}

/// The filters and scores that have something to say about the class.
void Classes::choose_policies(Row& row) const {
  for (const auto& filter : policies_.filters) {
    if (!filter->concerns(row.task)) continue;
    switch (filter->depends_on()) {
      case Depends::class_and_description:
        row.description_filters.push_back(filter.get());
        break;
      case Depends::class_and_node:
        row.node_filters.push_back(filter.get());
        break;
      case Depends::everything:
        row.fleet_filters.push_back(filter.get());
        break;
    }
  }
  row.indexed = true;
  for (const WeightedScore& weighted : policies_.scores) {
    if (!weighted.score->concerns(row.task)) continue;
    row.scores.push_back(&weighted);
    row.indexed &= weighted.score->depends_on() != Depends::everything &&
                   !weighted.score->looks_at_others(row.task);
  }
}

void Classes::describe(const View& view, Row& row, NodeIndex node) {
  Screen::Mask& described = bits_[node.value()].described;
  if (view.fleet().open(node) && accepted(row.description_filters, row.task, view, node)) {
    set_bit(described, row.number);
  } else {
    clear_bit(described, row.number);
  }
}

void Classes::description_changed(const View& view, NodeIndex node) {
  usage_changed(node);
  domains_.clear();
  for (const auto& row : rows_) {
    describe(view, *row, node);
    row->tallies_stale = !row->fleet_filters.empty();
  }
}

bool Classes::opened_by_others(const View& view, ShapeIndex shape) {
  const Row& here = row(view, shape);
  return std::ranges::any_of(here.fleet_filters, [&](const Filter* filter) {
    return filter->opened_by_others(here.task);
  });
}

bool Classes::shut_out(const View& view, ShapeIndex shape) {
  const Row& here = row(view, shape);
  return std::ranges::any_of(here.fleet_filters,
                             [&](const Filter* filter) { return filter->shut_out(here.task); });
}

// --- Tallies ------------------------------------------------------------------------------------

void Classes::shapes_changed(const State& state) {
  for (const auto& row : rows_) row->task.row = &state.shape(row->task.shape);
  for (; shapes_ < state.shape_count(); ++shapes_) {
    const ShapeIndex fresh(shapes_);
    for (const auto& row : rows_) watch_shape(*row, fresh, state.shape(fresh).spec);
  }
  number_of_shape_.resize(shapes_, no_class);
}

void Classes::watch_shape(Row& row, ShapeIndex running, const TaskShape& shape) {
  for (const Filter* filter : row.fleet_filters) {
    for (const Watch& watch : filter->counts(row.task, shape)) {
      const std::size_t tally = tally_of(row, *filter, watch);
      if (counted_by_shape_.size() <= running.value()) {
        counted_by_shape_.resize(running.value() + 1);
      }
      counted_by_shape_[running.value()].push_back(
          {static_cast<std::uint16_t>(row.number), static_cast<std::uint16_t>(tally)});
    }
  }
}

std::size_t Classes::tally_of(Row& row, const Filter& owner, const Watch& watch) {
  std::vector<Tally>& tallies = row.task.tallies;
  const auto found = std::ranges::find_if(
      tallies, [&](const Tally& each) { return &each.owner() == &owner && each.watch() == watch; });
  if (found == tallies.end()) {
    row.tallies_stale = true;
    tallies.emplace_back(owner, watch);
    return tallies.size() - 1;
  }
  return static_cast<std::size_t>(found - tallies.begin());
}

void Classes::recount(const View& view, Row& row) {
  row.tallies_stale = false;
  for (Tally& tally : row.task.tallies) {
    std::vector<std::uint8_t> counted(all_nodes_.size());
    for (const NodeIndex node : all_nodes_) {
      counted[node.value()] =
          tally.owner().counts_on(row.task, tally.watch(), view.fleet().node(node));
    }
    if (std::ranges::find(counted, 0) == counted.end()) counted.clear();
    tally.reset(domains(view.fleet(), tally.watch().level), std::move(counted));
  }
  if (row.task.tallies.empty()) return;
  for (const NodeIndex node : all_nodes_) {
    for (const Usage::ShapeCount& running : view.usage.shapes(node)) {
      if (running.shape.value() >= counted_by_shape_.size()) continue;
      for (const Counted& each : counted_by_shape_[running.shape.value()]) {
        if (each.number == row.number) row.task.tallies[each.tally].add(node, running.count);
      }
    }
  }
}

void Classes::tasks_changed(ShapeIndex shape, NodeIndex node, std::int64_t tasks) {
  if (shape.value() >= counted_by_shape_.size()) return;
  for (const Counted& each : counted_by_shape_[shape.value()]) {
    Row& row = *rows_[each.number];
    if (!row.tallies_stale) row.task.tallies[each.tally].add(node, tasks);
  }
}

std::shared_ptr<const Domains> Classes::domains(const Fleet& fleet, std::string_view level) {
  for (const auto& known : domains_) {
    if (known->level == level) return known;
  }
  domains_.push_back(std::make_shared<const Domains>(Domains::of(fleet, level)));
  return domains_.back();
}

// --- Ratings ------------------------------------------------------------------------------------

bool Classes::passes(const View& view, const Row& row, NodeIndex node) const {
  return has_bit(bits_[node.value()].described, row.number) && fits(row.task, view, node) &&
         accepted(row.node_filters, row.task, view, node);
}

/// Rates the survivors, in their order.
void Classes::rate_survivors(const View& view, const Row& row) {
  ratings_.resize(survivors_.size());
  if (survivors_.empty()) return;
  if (row.scores.size() == 1) {
    row.scores.front()->score->rate(row.task, view, survivors_, ratings_);
    return;
  }
  sums_.assign(survivors_.size(), 0);
  std::uint64_t weights = 0;
  for (const WeightedScore* weighted : row.scores) {
    weighted->score->rate(row.task, view, survivors_, ratings_);
    weights += weighted->weight;
    for (std::size_t at = 0; at < sums_.size(); ++at) {
      sums_[at] += std::uint64_t{weighted->weight} * ratings_[at];
    }
  }
  for (std::size_t at = 0; at < sums_.size(); ++at) {
    ratings_[at] = static_cast<Permille>(sums_[at] / weights);
  }
}

void Classes::index_survivors(const View& view, Row& row) {
  rate_survivors(view, row);
  for (std::size_t at = 0; at < survivors_.size(); ++at) {
    row.index.set(survivors_[at], static_cast<ClassIndex::Rating>(1 + ratings_[at]));
  }
}

void Classes::rate_all(const View& view, Row& row) {
  survivors_.clear();
  for (const NodeIndex node : all_nodes_) {
    if (!may_fit(*row.task.row, view.usage, node) || !passes(view, row, node)) continue;
    survivors_.push_back(node);
    set_bit(bits_[node.value()].rated, row.number);
  }
  index_survivors(view, row);
}

void Classes::screen_node(const View& view, NodeIndex node) {
  Screen::Mask may = screen_.may_fit(view.usage, node);
  NodeBits& bits = bits_[node.value()];
  Screen::Mask gone;
  for (unsigned word = 0; word < Screen::words; ++word) {
    may[word] &= bits.described[word];
    gone[word] = bits.rated[word] & ~may[word];
  }
  bits.rated = may;
  bits.to_rate = may;
  for_each_bit(gone, [&](unsigned number) { rows_[number]->index.set(node, ClassIndex::unfit); });
}

/// Brings the index of one class up to date.
void Classes::refresh(const View& view, Row& row) {
  for (const NodeIndex node : stale_nodes_) {
    stale_[node.value()] = 0;
    screen_node(view, node);
    if (warm_[node.value()] != 0) continue;
    warm_[node.value()] = 1;
    warm_nodes_.push_back(node);
  }
  stale_nodes_.clear();
  rate_warm(view, row);
  for (; warm_nodes_.size() > warm_max; warm_nodes_.pop_front()) {
    warm_[warm_nodes_.front().value()] = 0;
    rate_for_all(view, warm_nodes_.front());
  }
}

void Classes::rate_warm(const View& view, Row& row) {
  survivors_.clear();
  for (const NodeIndex node : warm_nodes_) {
    NodeBits& bits = bits_[node.value()];
    if (!has_bit(bits.to_rate, row.number)) continue;
    clear_bit(bits.to_rate, row.number);
    if (passes(view, row, node)) {
      survivors_.push_back(node);
    } else {
      row.index.set(node, ClassIndex::unfit);
    }
  }
  index_survivors(view, row);
}

void Classes::rate_for_all(const View& view, NodeIndex node) {
  survivors_.assign(1, node);
  fitting_.clear();
  fitting_rows_.clear();
  for_each_bit(bits_[node.value()].to_rate, [&](unsigned number) {
    Row& row = *rows_[number];
    if (!passes(view, row, node)) {
      row.index.set(node, ClassIndex::unfit);
    } else if (row.scores.size() > 1) {
      index_survivors(view, row);
    } else {
      fitting_.push_back(&row.task);
      fitting_rows_.push_back(&row);
    }
  });
  bits_[node.value()].to_rate = {};
  if (fitting_.empty()) return;
  // Scores that concern only some classes come on top of one that concerns all.
  ratings_.resize(fitting_.size());
  fitting_rows_.front()->scores.front()->score->rate_node(fitting_, view, node, ratings_);
  for (std::size_t at = 0; at < fitting_.size(); ++at) {
    fitting_rows_[at]->index.set(node, static_cast<ClassIndex::Rating>(1 + ratings_[at]));
  }
}

// --- The best node ------------------------------------------------------------------------------

NodeIndex Classes::best(const View& view, ShapeIndex shape) {
  Row& here = row(view, shape);
  if (!here.indexed) return scan(view, here, all_nodes_);
  refresh(view, here);
  return here.task.tallies.empty() ? here.index.best() : best_accepted(view, here);
}

/// Do the filters that look at others accept the node? The one that refuses is asked first from
/// then on: it will mostly refuse the next node as well.
bool Classes::accepted_beside_others(const View& view, Row& row, NodeIndex node) {
  for (const Filter*& filter : row.fleet_filters) {
    if (filter->check(row.task, view, node).ok()) continue;
    std::swap(filter, row.fleet_filters.front());
    return false;
  }
  return true;
}

/// Offers the best nodes to the filters that look at others, until they accept one.
NodeIndex Classes::best_accepted(const View& view, Row& row) {
  refused_.clear();
  NodeIndex best = row.index.best();
  while (best.valid() && !accepted_beside_others(view, row, best)) {
    refused_.emplace_back(best, row.index.rating(best));
    row.index.set(best, ClassIndex::unfit);
    if (refused_.size() == offers_max) break;
    best = row.index.best();
  }
  for (const auto& [node, rating] : refused_) row.index.set(node, rating);
  if (refused_.size() < offers_max) return best;
  rare_paths_.count(RarePath::offers_spent);
  return best_rated(view, row, all_nodes_);
}

NodeIndex Classes::best_rated(const View& view, Row& row, std::span<const NodeIndex> nodes) {
  NodeIndex best;
  ClassIndex::Rating highest = ClassIndex::unfit;
  for (const NodeIndex node : nodes) {
    if (row.index.rating(node) <= highest) continue;
    if (!accepted_beside_others(view, row, node)) continue;
    highest = row.index.rating(node);
    best = node;
  }
  return best;
}

NodeIndex Classes::best_among(const View& view, ShapeIndex shape,
                              std::span<const NodeIndex> nodes) {
  Row& here = row(view, shape);
  if (!here.indexed) return scan(view, here, nodes);
  refresh(view, here);
  return best_rated(view, here, nodes);
}

NodeIndex Classes::best_by_scan(const View& view, ShapeIndex shape) {
  return scan(view, row(view, shape), all_nodes_);
}

Permille Classes::rate(const View& view, ShapeIndex shape, NodeIndex node) {
  Row& here = row(view, shape);
  seed(view, here);
  survivors_.assign(1, node);
  rate_survivors(view, here);
  return ratings_.front();
}

/// Differs from decision to decision and is the same in every replay. What was tried in vain does
/// not count, because a workspace that was thrown away tries more.
void Classes::seed(const View& view, Row& row) {
  row.task.cycle_seed = view.state.version() * 1024 + view.held;
}

NodeIndex Classes::scan(const View& view, Row& row, std::span<const NodeIndex> nodes) {
  seed(view, row);
  survivors_.clear();
  for (const NodeIndex node : nodes) {
    if (passes(view, row, node) && accepted_beside_others(view, row, node)) {
      survivors_.push_back(node);
    }
  }
  rate_survivors(view, row);
  const auto best = std::ranges::max_element(ratings_);
  if (best == ratings_.end()) return NodeIndex::none();
  return survivors_[static_cast<std::size_t>(best - ratings_.begin())];
}

}  // namespace tutti
