//===- Constants.h - Measured shares of data sheets' rates ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_GROUPS_CONSTANTS_H
#define RONDO_PLANNING_GROUPS_CONSTANTS_H

#include "planning/groups/Layout.h"

#include <array>

namespace rondo::groups {

enum class Generation : uint8_t { Ampere, Hopper, Blackwell, BlackwellUltra };

/// Operands of products with the same peak and the same fitted share of it.
enum class Operands : uint8_t { Bf16, Fp8, MxFp8, Fp4 };

/// A device as its data sheet has it. Rates are those of one direction.
struct DeviceSheet {
  Generation generation = Generation::Hopper;
  /// Peaks of dense products of bf16, fp8 and fp4.
  std::array<int64_t, 3> flopsPerUs = {};
  int64_t memoryBytesPerUs = 0;
  /// To all devices of its domain together.
  int64_t linkBytesPerUs = 0;
  int64_t networkBytesPerUs = 0;
  int64_t memoryBytes = 0;
};

/// A cluster of equal devices.
struct Machines {
  DeviceSheet device;
  /// Devices that reach each other by links of a data sheet's rate.
  int64_t domain = 8;
  int64_t domains = 1;
  /// The network is one of Ethernet cards whose share of the rate is lower.
  bool hasSlowFabric = false;
  /// A processor that shares memory with its devices launches kernels sooner.
  bool hasNearHost = false;

  int64_t devices() const { return domain * domains; }
};

/// Shares of data sheets' rates, and times that no data sheet has. The defaults
/// are fitted on published runs; `bench/plans` does it again.
struct Constants {
  /// The share of the peak that products reach, by generation and operands.
  std::array<std::array<double, 4>, 4> products = {
      {{0.8182, 0.8182, 0.8182, 0.8182},
       {0.6692, 0.7081, 0.7081, 0.7081},
       {0.4947, 0.4792, 0.7423, 0.3748},
       {0.5650, 0.5473, 0.8477, 0.4280}}};
  /// The share of the bf16 peak that attention's newest kernel reaches.
  std::array<double, 4> attention = {0.5419, 0.5125, 0.65, 0.65};
  /// The share of these rates that each stack reaches, and the seconds that a
  /// layer's forward takes at least, since the host launches its kernels.
  std::array<double, 5> stack = {1, 1, 1.0302, 0.8982, 0.8188};
  std::array<double, 5> launches = {999.3e-6, 150e-6, 400e-6, 1638.1e-6,
                                    400e-6};
  /// The same of nanotron for each device of a tensor group of more than 2, in
  /// pipelines over several domains; no published trace says why.
  double pipelinedTensorLaunches = 0.8e-3;
  /// The same of a layer with experts, and where the host is near.
  double expertLaunches = 3282e-6;
  double nearExpertLaunches = 1500e-6;
  /// Products with operands that are read once: times the bytes of operands.
  double operandTraffic = 2.4909;
  /// Times the bytes that other kernels read and write.
  double elementTraffic = 1.2277;
  /// Share of the links' and the network's rates.
  double links = 0.85;
  double network = 0.8018;
  double slowFabric = 0.2657;
  /// The share of the time of tensor-parallel messages that adds to a layer's:
  /// in the backward, whose products overlap them, and in a stack that overlaps
  /// them everywhere.
  double tensorBackward = 0.4435;
  double tensorOverlapped = 0.3869;
  /// The part of gathers and sums of gradients that stays visible at least.
  double visibleSums = 0.3;
  /// The visible part of messages between stages, with several chunks a rank.
  double visibleStageMessages = 0.7;
  /// The share of the time of messages to experts that adds to a layer's, and
  /// the share of that which remains if another micro-batch computes meanwhile.
  double visibleExpertMessages = 0.254;
  double besideMicrobatch = 0.4;
  /// Grouped products of experts reach this share of a product's rate.
  double groupedProducts = 0.468;
  /// Layers with experts take this many times as long in stacks of 2025, with
  /// operands of less than 2 bytes.
  double earlyExperts = 1.39;
  /// All times of an iteration are multiplied by this, which one measured run
  /// of the stack gives.
  double scale = 1;
  /// Seconds of a message of no bytes.
  double messageLatency = 10e-6;
};

} // namespace rondo::groups

#endif // RONDO_PLANNING_GROUPS_CONSTANTS_H
