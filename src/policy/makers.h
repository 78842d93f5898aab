/// The makers of all policies, one line each; private to policy/.
#pragma once

#include <memory>
#include <span>

#include "policy/registry.h"

namespace tutti {

using Arguments = std::span<const Argument>;

std::unique_ptr<const Score> make_balanced(Arguments arguments, const State& state);
std::unique_ptr<const Score> make_bestfit(Arguments arguments, const State& state);
std::unique_ptr<const Score> make_clustering(Arguments arguments, const State& state);
std::unique_ptr<const Score> make_dotprod(Arguments arguments, const State& state);
std::unique_ptr<const Score> make_fgd(Arguments arguments, const State& state);
std::unique_ptr<const Score> make_pack(Arguments arguments, const State& state);
std::unique_ptr<const Score> make_packing(Arguments arguments, const State& state);
std::unique_ptr<const Score> make_random(Arguments arguments, const State& state);
std::unique_ptr<const Score> make_spread(Arguments arguments, const State& state);
std::unique_ptr<const Score> make_usable(Arguments arguments, const State& state);

std::unique_ptr<const Score> make_preferred(Arguments arguments, const State& state);

std::unique_ptr<const Filter> make_node_selector();
std::unique_ptr<const Filter> make_ports();
std::unique_ptr<const Filter> make_stack();
std::unique_ptr<const Filter> make_taints();
std::unique_ptr<const Filter> make_task_affinity();
std::unique_ptr<const Filter> make_topology_spread();

/// The filters that always run; each says itself whom it concerns.
std::vector<std::unique_ptr<const Filter>> make_filters();

}  // namespace tutti
