//===- tuner.cpp - When to switch to another schedule ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/adaptive/tuner.h"

using namespace rondo::runtime;

size_t Tuner::choose(const std::vector<int64_t> &estimates, size_t current,
                     int64_t since, int64_t iteration) const {
  if (iteration - since + 1 < options.dwell || estimates[current] <= 0)
    return current;
  size_t best = current;
  for (size_t c = 0; c < estimates.size(); ++c)
    if (estimates[c] > 0 && estimates[c] < estimates[best])
      best = c;
  const double enough =
      static_cast<double>(estimates[current]) * (1 - options.leastGain);
  return static_cast<double>(estimates[best]) <= enough ? best : current;
}
