//===- UnevenCosts.cpp - Costs that differ by micro-batch -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/model/Problem.h"

#include <algorithm>

using namespace rondo;

Cost Problem::sumOfCosts(Action action) const {
  Cost sum = cost(action.subject, action.kind(), action.index);
  for (int64_t i = 1; i < int64_t(action.count); ++i) {
    const Cost &next = cost(action.subject, action.kind(), action.index + i);
    sum.ns += next.ns;
    sum.acquireBytes += next.acquireBytes;
    sum.releaseBytes += next.releaseBytes;
  }
  return sum;
}

static bool areEqual(const Cost &a, const Cost &b) {
  return a.ns == b.ns && a.acquireBytes == b.acquireBytes &&
         a.releaseBytes == b.releaseBytes;
}

/// Whether each run of `length` values has equal ones.
template <typename T, typename Equal>
static bool areRunsEqual(const std::vector<T> &values, int64_t length,
                         const Equal &equal) {
  for (size_t i = 0; i < values.size(); ++i)
    if (!equal(values[i], values[i - i % length]))
      return false;
  return true;
}

/// Mean of the times, rounded up; bounded if times are invalid, which check()
/// reports.
static int64_t meanNs(const Cost *byMicrobatch, int64_t microbatches) {
  int64_t quotients = 0, remainders = 0;
  for (int64_t i = 0; i < microbatches; ++i) {
    quotients += byMicrobatch[i].ns / microbatches;
    remainders += byMicrobatch[i].ns % microbatches;
  }
  return quotients + (remainders + microbatches - 1) / microbatches;
}

void Problem::setUneven(std::vector<Cost> costsByMicrobatch,
                        std::vector<int64_t> bytesByMicrobatch) {
  const int64_t count = microbatches;
  for (int64_t row = 0; row * count < int64_t(costsByMicrobatch.size());
       ++row) {
    const Cost *own = &costsByMicrobatch[row * count];
    costs[row] = own[0];
    costs[row].ns = meanNs(own, count);
  }
  for (int32_t replica = 0;
       !costsByMicrobatch.empty() && replica < numReplicas(); ++replica) {
    auto of = [&](ActionKind kind, int64_t i) -> const Cost & {
      return costsByMicrobatch[(replica * numCostColumns + costColumn(kind)) *
                                   count +
                               i];
    };
    auto held = [&](int64_t i) {
      return of(ActionKind::Forward, i).acquireBytes / 2 +
             of(ActionKind::Recompute, i).acquireBytes / 2;
    };
    int64_t largest = 0;
    for (int64_t i = 1; i < count; ++i)
      if (held(i) > held(largest))
        largest = i;
    for (const ActionTraits &traits : actionTable.rows)
      if (traits.isTask() || traits.isCopy()) {
        cost(replica, traits.kind).acquireBytes =
            of(traits.kind, largest).acquireBytes;
        cost(replica, traits.kind).releaseBytes =
            of(traits.kind, largest).releaseBytes;
      }
  }
  for (size_t e = 0; e * count < bytesByMicrobatch.size(); ++e)
    edges[e].bytes =
        *std::max_element(bytesByMicrobatch.begin() + e * count,
                          bytesByMicrobatch.begin() + (e + 1) * count);
  if (areRunsEqual(costsByMicrobatch, count, areEqual))
    costsByMicrobatch.clear();
  if (areRunsEqual(bytesByMicrobatch, count, std::equal_to<>()))
    bytesByMicrobatch.clear();
  unevenCosts = std::move(costsByMicrobatch);
  unevenBytes = std::move(bytesByMicrobatch);
}
