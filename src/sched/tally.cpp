#include "sched/tally.h"

#include <algorithm>

#include "base/check.h"

namespace tutti {

void Tally::reset(std::shared_ptr<const Domains> domains, std::vector<std::uint8_t> counted_nodes) {
  domains_ = std::move(domains);
  counted_nodes_ = std::move(counted_nodes);
  counts_.assign(domains_->names.size(), 0);
  counted_domains_.assign(counts_.size(), counted_nodes_.empty() ? 1 : 0);
  for (std::size_t at = 0; at < counted_nodes_.size(); ++at) {
    const DomainIndex domain = domains_->of_node[at];
    if (domain.valid() && counted_nodes_[at] != 0) counted_domains_[domain.value()] = 1;
  }
  domain_count_ = static_cast<std::uint32_t>(std::ranges::count(counted_domains_, 1));
  domains_holding_.assign(1, domain_count_);
  least_ = 0;
  total_ = 0;
}

void Tally::add(NodeIndex node, std::int64_t tasks) {
  const DomainIndex domain = domains_->of_node[node.value()];
  if (!domain.valid()) return;
  if (!counted_nodes_.empty() && counted_nodes_[node.value()] == 0) return;
  std::uint32_t& count = counts_[domain.value()];
  const std::uint32_t before = count;
  CHECK(tasks >= 0 || count >= static_cast<std::uint64_t>(-tasks), count, tasks, watch_.level);
  count = static_cast<std::uint32_t>(count + tasks);
  total_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(total_) + tasks);
  if (domains_holding_.size() <= count) domains_holding_.resize(count + 1);
  --domains_holding_[before];
  ++domains_holding_[count];
  least_ = std::min(least_, count);
  while (domains_holding_[least_] == 0) ++least_;
}

}  // namespace tutti
