//===- ClusterPresets.cpp - Devices and nodes by name ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/ClusterPresets.h"

using llvm::ArrayRef;
using llvm::StringRef;

namespace rondo::formats {

ArrayRef<DevicePreset> devicePresets() {
  static const DevicePreset presets[] = {
      {"h100", 80000000000, 989400000,
       "NVIDIA H100 SXM data sheet, 2023: 80 GB HBM3; bf16 1979 TFLOP/s with "
       "sparsity, 989.4 dense"},
      {"h200", 141000000000, 989400000,
       "NVIDIA H200 SXM data sheet, 2023: 141 GB HBM3e; bf16 1979 TFLOP/s with "
       "sparsity, 989.4 dense"},
      {"a100", 80000000000, 312000000,
       "NVIDIA A100 80GB SXM data sheet, 2021: 80 GB HBM2e; bf16 312 TFLOP/s "
       "dense"},
      {"a6000", 48000000000, 154800000,
       "NVIDIA RTX A6000 data sheet, 2020: 48 GB GDDR6; 309.7 TFLOP/s with "
       "sparsity, 154.8 dense"},
  };
  return presets;
}

const DevicePreset *findDevicePreset(StringRef name) {
  for (const DevicePreset &preset : devicePresets())
    if (name == preset.name)
      return &preset;
  return nullptr;
}

ArrayRef<NodePreset> nodePresets() {
  constexpr const char *nvlink4 =
      "NVLink 4, 18 links, 900 GB/s in both directions together (data sheet)";
  constexpr const char *network400 = "8 cards of 400 Gb/s a node, one a GPU "
                                     "(NVIDIA DGX H100 data sheet, 2022)";
  constexpr const char *onePerGpu = "one a GPU (data sheet)";
  static const NodePreset presets[] = {
      {"8xh100",
       "h100",
       8,
       {5000, 450000},
       nvlink4,
       {20000, 50000},
       network400,
       8,
       onePerGpu},
      {"8xh200",
       "h200",
       8,
       {5000, 450000},
       nvlink4,
       {20000, 50000},
       "8 cards of 400 Gb/s a node, one a GPU (NVIDIA DGX H200 data sheet, "
       "2024)",
       8,
       onePerGpu},
      {"8xa100",
       "a100",
       8,
       {5000, 300000},
       "NVLink 3, 12 links, 600 GB/s in both directions together (data sheet)",
       {20000, 25000},
       "8 cards of 200 Gb/s a node, one a GPU (NVIDIA DGX A100 data sheet, "
       "2020)",
       8,
       onePerGpu},
      {"pcie-a6000",
       "a6000",
       4,
       {10000, 31508},
       "PCIe 4.0 x16 (data sheet): 16 lanes of 16 GT/s, 128 of 130 bits",
       {20000, 0},
       "",
       1,
       "one, which the devices of a node share: an assumption"},
  };
  return presets;
}

const NodePreset *findNodePreset(StringRef name) {
  for (const NodePreset &preset : nodePresets())
    if (name == preset.name)
      return &preset;
  return nullptr;
}

} // namespace rondo::formats
