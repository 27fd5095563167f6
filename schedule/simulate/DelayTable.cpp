//===- DelayTable.cpp - Delays of a run of any length ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/simulate/DelayTable.h"

#include <algorithm>
#include <numeric>

using namespace rondo;

double DelayTable::meanOf(const std::vector<int32_t> &delays) const {
  return static_cast<double>(
             std::accumulate(delays.end() - period, delays.end(), int64_t(0))) /
         static_cast<double>(period);
}

namespace {

/// The delays of one replica's tasks of a kind, without the end of the window.
class Series {
public:
  Series(const std::vector<int32_t> &versions, int64_t each, int64_t length,
         int64_t period)
      : delays(length), period(period) {
    for (int64_t m = 0; m < length; ++m)
      delays[m] = static_cast<int32_t>(m / each) - versions[m];
    for (int64_t m = length - period; m < length; ++m) {
      if (delays[m] == delays[m - period])
        continue;
      for (int64_t other = m; other >= length / 2; other -= period)
        delays[m] = std::max(delays[m], delays[other]);
    }
  }

  /// The first micro-batch from which on all delays are the repeating ones.
  int64_t settledFrom() const {
    auto size = static_cast<int64_t>(delays.size());
    int64_t from = size - period;
    while (from > 0 && delays[from - 1] == repeated(from - 1))
      --from;
    return from;
  }
  std::vector<int32_t> list(int64_t length) const {
    std::vector<int32_t> listed(delays.begin(), delays.begin() + length);
    for (int64_t m = length - period; m < length; ++m)
      listed[m] = repeated(m);
    return listed;
  }

private:
  int32_t repeated(int64_t m) const {
    auto size = static_cast<int64_t>(delays.size());
    const int64_t first = size - period;
    return delays[first + ((m - first) % period + period) % period];
  }

  std::vector<int32_t> delays;
  const int64_t period;
};

} // namespace

DelayTable rondo::settledDelays(const Problem &window,
                                const VersionAnalysis &versions,
                                int64_t underWay, int64_t iterationsEach) {
  const int64_t each = window.microbatchesEach();
  const int64_t length = (window.iterations - underWay) * each,
                period = iterationsEach * each;
  std::vector<Series> forward, backward, recompute;
  int64_t settled = 0;
  for (const ReplicaVersions &replica : versions.replicas) {
    forward.emplace_back(replica.forward, each, length, period);
    backward.emplace_back(replica.backward, each, length, period);
    recompute.emplace_back(replica.recompute, each, length, period);
    for (const Series &series :
         {forward.back(), backward.back(), recompute.back()})
      settled = std::max(settled, series.settledFrom());
  }
  DelayTable table;
  table.period = period;
  // Round up to whole iterations.
  settled = (settled + each - 1) / each * each;
  const int64_t listed = std::min(settled + period, length);
  for (size_t replica = 0; replica < forward.size(); ++replica) {
    table.forward.push_back(forward[replica].list(listed));
    table.backward.push_back(backward[replica].list(listed));
    table.recompute.push_back(recompute[replica].list(listed));
  }
  return table;
}
