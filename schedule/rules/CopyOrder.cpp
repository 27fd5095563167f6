//===- CopyOrder.cpp - S12: a copy order names each copy once -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/Legality.h"

using namespace rondo;

namespace {

constexpr Rule rule = Rule::CopyOrder;

} // namespace

std::optional<Fault> rondo::checkCopyOrder(const Problem &problem,
                                           const Schedule &schedule) {
  if (schedule.copyOrders.empty())
    return std::nullopt;
  const HostMemory &host = problem.hostMemory;
  const auto links = static_cast<int32_t>(host.shared.size());
  const int64_t microbatches = problem.microbatches;
  /// [replica * microbatches + microbatch]: copies over the current link that
  /// its order has not named yet.
  std::vector<Done> unnamed(size_t(problem.numReplicas()) * microbatches,
                            nothingDone);
  const auto unnamedOf = [&](Action action) -> Done & {
    return unnamed[int64_t(action.subject) * microbatches +
                   int64_t(action.index)];
  };
  for (const auto &[link, listed] : schedule.copyOrders) {
    if (link < 0 || link >= links)
      return makeRuleFault<FaultKind::NoSuchHostLink>(rule, link, links);
    for (int32_t r = 0; r < schedule.numRanks(); ++r)
      if (host.sharedLink(r) == link)
        for (Action action : schedule.rank(r))
          if (action.traits().isCopy())
            unnamedOf(action) |= action.traits().makes;
    for (size_t i = 0; i < listed.size(); ++i) {
      const Action action = listed[i];
      const bool isKnown = action.traits().isCopy() && action.count == 1 &&
                           int64_t(action.subject) < problem.numReplicas() &&
                           int64_t(action.index) < microbatches &&
                           (unnamedOf(action) & action.traits().makes);
      if (!isKnown)
        return makeFaultAt<FaultKind::NotOnHostLink>(
            rule, -1, static_cast<int64_t>(i), action, link);
      unnamedOf(action) &= static_cast<Done>(~action.traits().makes);
    }
    for (int32_t r = 0; r < schedule.numRanks(); ++r)
      if (host.sharedLink(r) == link)
        for (Action action : schedule.rank(r))
          if (action.traits().isCopy() &&
              (unnamedOf(action) & action.traits().makes))
            return makeFaultAt<FaultKind::CopyNotListed>(rule, r, -1, action,
                                                         link);
  }
  return std::nullopt;
}
