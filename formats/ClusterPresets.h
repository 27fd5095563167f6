//===- ClusterPresets.h - Devices and nodes by name -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Figures of data sheets, each with its source.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_CLUSTERPRESETS_H
#define RONDO_FORMATS_CLUSTERPRESETS_H

#include "formats/Topology.h"
#include "planning/groups/Constants.h"

namespace rondo::formats {

/// A device's links to other devices, in addition to PCIe.
struct NvLinks {
  /// 0 if it has none.
  int64_t count = 0;
  /// The sum over all links, in one direction.
  int64_t bytesPerUs = 0;
  /// The source of the figures.
  const char *source = "";
};

/// Further rates of a device, for the costs of groups of devices.
struct GroupRates {
  groups::Generation generation;
  /// Peak of dense products of fp8 and fp4; that of the next wider operands if
  /// the device has none.
  int64_t fp8FlopsPerUs, fp4FlopsPerUs;
  int64_t memoryBytesPerUs;
  /// The source of the figures.
  const char *source;
};

/// A device's link to its host, in one direction.
struct HostLinkPreset {
  HostLink link;
  /// The source of its rate.
  const char *source;
};

struct DevicePreset {
  const char *name;
  int64_t memoryBytes;
  /// Peak of dense bf16 products.
  int64_t peakFlopsPerUs;
  const char *source;
  NvLinks nvLinks;
  /// 4 or 5, with 16 lanes.
  int pcieGeneration;
  /// Nothing if no shares of this generation's rates have been measured.
  std::optional<GroupRates> rates = std::nullopt;

  /// NVLink-C2C if the device has it, else PCIe.
  HostLinkPreset hostLink() const;
  /// Links and network are left out. The device must have `rates`.
  groups::DeviceSheet sheet() const;
};
llvm::ArrayRef<DevicePreset> devicePresets();
/// Null if there is none.
const DevicePreset *findDevicePreset(llvm::StringRef name);

/// pathKinds() with the rates of a device's data sheet; that of NV is 0 if the
/// device has no NVLinks. Null: pathKinds(), whose rates are an assumption.
std::vector<PathKind> pathKindsOf(const DevicePreset *device);

struct NodePreset {
  const char *name;
  const char *device;
  int64_t numDevices;
  /// Between two devices of a node, as nvidia-smi prints it.
  const char *path;
  /// Between devices of two nodes, for each device; no bytes: the vendor does
  /// not say.
  Link network;
  const char *networkSource;
  /// NICs of a node, each of an equal part of its devices.
  int64_t numNics;
  const char *nicSource;

  const DevicePreset &devicePreset() const { return *findDevicePreset(device); }
  /// Between two devices of a node, in one direction.
  Link link() const;
  const char *linkSource() const;
};
llvm::ArrayRef<NodePreset> nodePresets();
const NodePreset *findNodePreset(llvm::StringRef name);

/// Achievable operations as a share of the peak, unless another is given.
inline constexpr double defaultEfficiency = 0.4;

} // namespace rondo::formats

#endif // RONDO_FORMATS_CLUSTERPRESETS_H
