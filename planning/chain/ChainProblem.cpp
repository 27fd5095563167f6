//===- ChainProblem.cpp - Layers and devices to plan for ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/ChainProblem.h"

#include <algorithm>
#include <limits>

using namespace rondo;

std::optional<Fault> ChainProblem::check() const {
  // Sums of a few figures below this limit fit 64 bits.
  constexpr auto most = static_cast<double>(int64_t(1) << 60);
  double slowest = std::numeric_limits<int64_t>::max();
  for (int32_t u = 0; u < numDevices(); ++u)
    for (int32_t v = 0; v < numDevices(); ++v)
      if (u != v)
        slowest = std::min(slowest, static_cast<double>(rate(u, v)));
  const auto M = static_cast<double>(microbatches);
  const auto latency =
      static_cast<double>(std::max(latencyInsideNs, latencyAcrossNs));
  double scale = 1;
  for (int64_t speed : speedPercent)
    scale = std::max(scale, 100 / static_cast<double>(speed));
  double ns = 2 * static_cast<double>(numDevices()) * latency, bytes = 0;
  for (const ChainLayer &layer : layers) {
    ns += M * (scale * (static_cast<double>(layer.forwardNs) +
                        static_cast<double>(layer.backwardNs)) +
               2 * latency +
               2000 * static_cast<double>(layer.outputBytes) / slowest) +
          2000 * static_cast<double>(layer.parameterBytes) / slowest;
    bytes += static_cast<double>(layer.stateBytes) +
             static_cast<double>(layer.workingBytes) +
             M * (static_cast<double>(layer.stashBytes) +
                  static_cast<double>(layer.outputBytes));
  }
  if (ns > most)
    return makeFault<FaultKind::LongIteration>();
  if (bytes > most)
    return makeFault<FaultKind::LargeModel>();
  return {};
}
