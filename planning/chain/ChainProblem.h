//===- ChainProblem.h - Layers and devices to plan for ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_CHAINPROBLEM_H
#define RONDO_PLANNING_CHAIN_CHAINPROBLEM_H

#include "schedule/model/Fault.h"
#include "schedule/model/Infinity.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// A layer of a chain. Figures are for one micro-batch on one device.
struct ChainLayer {
  std::string name;
  int64_t forwardNs = 0, backwardNs = 0;
  /// To the next layer; its gradient comes back with as many.
  int64_t outputBytes = 0;
  /// Kept from the forward to the backward.
  int64_t stashBytes = 0;
  /// Of parameters, which is what a sum of gradients adds up; and of all state:
  /// weights, gradients, optimizer.
  int64_t parameterBytes = 0, stateBytes = 0;
  /// Needed once, however many micro-batches are under way: what recomputation
  /// brings back.
  int64_t workingBytes = 0;
  /// What of the backward only computes gradients of weights, where that is
  /// known: evaluators that run the backward as a whole do not look at it.
  int64_t weightGradNs = 0;
};

/// What a planner is given (rondo-planning/1): a chain of layers, and devices
/// on servers, with the bandwidth of each pair.
struct ChainProblem {
  std::string name;
  int32_t microbatches = 1;
  /// Of a micro-batch, where they are known: then a device takes whole ones, a
  /// message carries those that its two devices have in common, and the inputs
  /// of a stage are memory too. 0: any number of devices takes equal shares,
  /// and a message is cut into a piece for each pair of devices (SPP).
  int64_t samples = 0;
  std::vector<ChainLayer> layers;
  /// By device: its server.
  std::vector<int32_t> nodeOf;
  /// By device: its NIC, a number below that of devices, or -1 for
  /// none; a NIC is in one server. Empty: there are no NICs. What passes
  /// between servers crosses the NICs, one piece at a time in each direction.
  std::vector<int32_t> nicOf;
  /// Of the largest device; 0: no device has a limit.
  int64_t memoryBytes = 0;
  /// By device: how much less memory than the largest it has. Empty: all have
  /// as much.
  std::vector<int64_t> memoryLess;
  /// By device: its speed, 1 or more; of 100, layers take their times. Empty:
  /// all have this.
  std::vector<int64_t> speedPercent;
  /// [from * devices + to]; at least 1 between two devices.
  std::vector<int64_t> bytesPerUs;
  /// Within a server, and between two.
  int64_t latencyInsideNs = 0, latencyAcrossNs = 0;

  /// What is wrong with the figures: sums over an iteration must fit 64 bits.
  /// Each figure is at least 0, each rate between two devices at least 1, and
  /// there are layers and devices.
  std::optional<Fault> check() const;

  int32_t numLayers() const { return static_cast<int32_t>(layers.size()); }
  int32_t numDevices() const { return static_cast<int32_t>(nodeOf.size()); }
  int64_t rate(int32_t from, int32_t to) const {
    return bytesPerUs[static_cast<size_t>(from) * nodeOf.size() + to];
  }
  /// Memory of the smallest device.
  int64_t smallestDeviceBytes() const {
    return memoryLess.empty()
               ? memoryBytes
               : memoryBytes -
                     *std::max_element(memoryLess.begin(), memoryLess.end());
  }
  bool hasUnequalDevices() const {
    return !memoryLess.empty() || !speedPercent.empty();
  }
  int64_t latencyNs(int32_t from, int32_t to) const {
    return nodeOf[from] == nodeOf[to] ? latencyInsideNs : latencyAcrossNs;
  }
};

/// Layers [first, end) on devices that share the samples of each micro-batch
/// equally.
struct ChainStage {
  int32_t first = 0, end = 0;
  std::vector<int32_t> devices;
};

inline bool operator==(const ChainStage &a, const ChainStage &b) {
  return a.first == b.first && a.end == b.end && a.devices == b.devices;
}

/// Consecutive stages of all layers, on disjoint devices; some may stay idle.
using ChainPlan = std::vector<ChainStage>;

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_CHAINPROBLEM_H
