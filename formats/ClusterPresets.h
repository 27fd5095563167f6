//===- ClusterPresets.h - Devices and nodes by name -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Figures of data sheets, each with its source.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_CLUSTERPRESETS_H
#define RONDO_FORMATS_CLUSTERPRESETS_H

#include "schedule/Problem.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace rondo::formats {

struct DevicePreset {
  const char *name;
  int64_t memoryBytes;
  /// Peak of dense bf16 products.
  int64_t peakFlopsPerUs;
  const char *source;
};
llvm::ArrayRef<DevicePreset> devicePresets();
/// Null if there is none.
const DevicePreset *findDevicePreset(llvm::StringRef name);

struct NodePreset {
  const char *name;
  const char *device;
  int64_t numDevices;
  /// Between two devices of a node, in one direction.
  Link link;
  const char *linkSource;
  /// Between devices of two nodes, for each device; no bytes: the vendor does
  /// not say.
  Link network;
  const char *networkSource;
  /// Network cards of a node, each of an equal part of its devices.
  int64_t numCards;
  const char *cardSource;
};
llvm::ArrayRef<NodePreset> nodePresets();
const NodePreset *findNodePreset(llvm::StringRef name);

/// Achievable operations as a share of the peak, unless another is given.
inline constexpr double defaultEfficiency = 0.4;

} // namespace rondo::formats

#endif // RONDO_FORMATS_CLUSTERPRESETS_H
