//===- FailedRun.cpp - Which rank ended a run -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reports/FailedRun.h"

#include "kinds/Counts.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rondo {

const json::Failure &FailedRun::any() const {
  return **find_if(byRank, [](const auto &file) { return file.has_value(); });
}

std::string FailedRun::add(json::Failure file, const std::string &path) {
  if (byRank.empty()) {
    byRank.resize(file.ranks);
    paths.resize(file.ranks);
  } else {
    const json::Failure &other = any();
    const std::string &its = paths[other.rank];
    if (file.program != other.program)
      return "is of program '" + file.program + "', but " + its +
             " is of program '" + other.program + "'";
    if (file.run != other.run)
      return "is of run '" + file.run + "', but " + its + " is of run '" +
             other.run + "'; give the files of one run";
    if (file.ranks != other.ranks)
      return "is of " + countOf(file.ranks, "rank") + ", but " + its +
             " is of " + std::to_string(other.ranks);
    if (byRank[file.rank])
      return "is of rank " + std::to_string(file.rank) + ", as is " +
             paths[file.rank];
  }
  const int64_t rank = file.rank;
  paths[rank] = path;
  byRank[rank] = std::move(file);
  return std::string();
}

std::vector<int64_t> FailedRun::missing() const {
  std::vector<int64_t> ranks;
  for (int64_t rank = 0; rank < numRanks(); ++rank)
    if (!byRank[rank])
      ranks.push_back(rank);
  return ranks;
}

const json::FailureAction *FailedRun::last(int64_t rank) const {
  return byRank[rank] && !byRank[rank]->actions.empty()
             ? &byRank[rank]->actions.back()
             : nullptr;
}

const json::FailureWait *FailedRun::wait(int64_t rank) const {
  const json::FailureAction *action = last(rank);
  return action && action->isUnfinished() && action->wait &&
                 !action->wait->what.empty()
             ? &*action->wait
             : nullptr;
}

bool FailedRun::isUnderWay(int64_t rank) const {
  const json::FailureWait *wanted = wait(rank);
  if (!wanted || wanted->what != "arrival" || !byRank[wanted->rank])
    return false;
  return any_of(byRank[wanted->rank]->actions,
                [&](const json::FailureAction &action) {
                  return !action.isUnfinished() && action.kind == "send" &&
                         action.iteration == last(rank)->iteration &&
                         action.name == "send " + wanted->name;
                });
}

std::vector<int64_t> FailedRun::chainFrom(int64_t rank) const {
  std::vector<int64_t> chain = {rank};
  while (const json::FailureWait *next = wait(chain.back())) {
    const bool isEnd =
        is_contained(chain, next->rank) || isUnderWay(chain.back());
    chain.push_back(next->rank);
    if (isEnd)
      break;
  }
  return chain;
}

/// Longer ones say more, and of those that are as long one without a rank that
/// comes twice.
static size_t weightOf(ArrayRef<int64_t> chain) {
  return 2 * chain.size() -
         (is_contained(chain.drop_back(), chain.back()) ? 3 : 0);
}

FailedRun::Cause FailedRun::cause() const {
  // The first that was not stopped by another one.
  const json::Failure *first = nullptr;
  for (const auto &file : byRank)
    if (file && file->ended != json::Failure::Ending::Stopped &&
        (!first || file->endedNs < first->endedNs))
      first = &*file;
  std::vector<std::vector<int64_t>> chains;
  for (int64_t rank = 0; rank < numRanks(); ++rank)
    chains.push_back(chainFrom(rank));
  auto longestTo = [&](int64_t rank) {
    std::vector<int64_t> longest = {rank};
    for (const std::vector<int64_t> &chain : chains)
      if (chain.back() == rank && weightOf(chain) > weightOf(longest))
        longest = chain;
    return longest;
  };
  Cause cause;
  const std::vector<int64_t> lost = missing();
  if (!lost.empty()) {
    // The one that holds up most.
    cause.why = Why::Killed;
    cause.rank = lost.front();
    for (int64_t rank : lost)
      if (longestTo(rank).size() > longestTo(cause.rank).size())
        cause.rank = rank;
    cause.chain = longestTo(cause.rank);
    return cause;
  }
  if (first && first->ended == json::Failure::Ending::Error) {
    cause.why = Why::Error;
    cause.rank = first->rank;
    cause.chain = {cause.rank};
    for (const std::vector<int64_t> &chain : chains)
      if (is_contained(chain, cause.rank) &&
          weightOf(chain) > weightOf(cause.chain))
        cause.chain = chain;
    return cause;
  }
  for (const std::vector<int64_t> &chain : chains)
    if (chain.size() > 1 &&
        (cause.chain.empty() || weightOf(chain) > weightOf(cause.chain)))
      cause.chain = chain;
  if (cause.chain.empty()) {
    for (int64_t rank = 0; rank < numRanks(); ++rank) {
      const json::FailureAction *at = last(rank);
      if (!at || at->kind == "idle" ||
          (cause.why == Why::Longest &&
           last(cause.rank)->startNs <= at->startNs))
        continue;
      cause.why = Why::Longest;
      cause.rank = rank;
      cause.chain = {rank};
    }
    return cause;
  }
  const int64_t waiting = cause.chain[cause.chain.size() - 2];
  if (isUnderWay(waiting)) {
    cause.rank = waiting;
    cause.why = Why::UnderWay;
    return cause;
  }
  cause.rank = cause.chain.back();
  cause.why = wait(cause.rank) ? Why::Cycle : Why::Runs;
  return cause;
}

} // namespace rondo
