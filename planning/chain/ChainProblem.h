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
  /// Bytes of the message to the next layer, and of its gradient on the way
  /// back.
  int64_t outputBytes = 0;
  /// Bytes that are kept from the forward to the backward.
  int64_t stashBytes = 0;
  /// Bytes of parameters, which a sum of gradients adds up; and of all state:
  /// weights, gradients, optimizer.
  int64_t parameterBytes = 0, stateBytes = 0;
  /// Bytes that recomputation restores; needed once, for any number of
  /// micro-batches in flight.
  int64_t workingBytes = 0;
  /// The part of the backward that computes weight gradients, if known; 0:
  /// unknown. Evaluators that run the backward as a whole ignore it.
  int64_t weightGradNs = 0;
};

/// The input of a planner (rondo-planning/1): a chain of layers, and devices on
/// servers, with the bandwidth of each pair.
struct ChainProblem {
  std::string name;
  int32_t microbatches = 1;
  /// Samples of a micro-batch, if known: then a device takes whole samples, a
  /// message carries those that its two devices have in common, and the inputs
  /// of a stage count as memory. 0: any number of devices takes equal shares,
  /// and a message is cut into one shard for each pair of devices (SPP).
  int64_t samples = 0;
  std::vector<ChainLayer> layers;
  /// [device]: its server.
  std::vector<int32_t> nodeOf;
  /// [device]: its NIC, less than the number of devices, or -1: none. All
  /// devices of a NIC are in one server. Empty: no NICs. Messages between
  /// servers pass the NICs, each of which carries one shard at a time in each
  /// direction.
  std::vector<int32_t> nicOf;
  /// Memory of the largest device; 0: no limit.
  int64_t memoryBytes = 0;
  /// [device]: memory of the largest device minus its own. Empty: all equal.
  std::vector<int64_t> memoryLess;
  /// [device]: its speed in percent, 1 or more; layers take their stated times
  /// at 100. Empty: all are 100.
  std::vector<int64_t> speedPercent;
  /// [from * devices + to]; at least 1 between two devices.
  std::vector<int64_t> bytesPerUs;
  /// Latency within a server, and between two servers.
  int64_t latencyInsideNs = 0, latencyAcrossNs = 0;

  /// Returns a fault if sums over an iteration may not fit 64 bits. Needs
  /// figures of at least 0, rates between two devices of at least 1, and at
  /// least one layer and one device.
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
