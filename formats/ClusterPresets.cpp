//===- ClusterPresets.cpp - Devices and nodes by name ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/ClusterPresets.h"

using llvm::ArrayRef;
using llvm::StringRef;

namespace rondo::formats {

ArrayRef<DevicePreset> devicePresets() {
  // NVIDIA states NVLinks in both directions together; half of that is one
  // direction.
  static const DevicePreset presets[] = {
      {"h100",
       80000000000,
       989400000,
       "NVIDIA H100 SXM data sheet, 2023: 80 GB HBM3; bf16 1979 TFLOP/s with "
       "sparsity, 989.4 dense",
       {18, 450000,
        "NVLink 4, 18 links, 900 GB/s in both directions together (data "
        "sheet)"},
       5,
       GroupRates{
           groups::Generation::Hopper, 1979000000, 1979000000, 3350000,
           "NVIDIA H100 SXM data sheet, 2023: HBM3 of 3.35 TB/s; fp8 3958 "
           "TFLOP/s with sparsity, 1979 dense"}},
      {"h200",
       141000000000,
       989400000,
       "NVIDIA H200 SXM data sheet, 2023: 141 GB HBM3e; bf16 1979 TFLOP/s with "
       "sparsity, 989.4 dense",
       {18, 450000,
        "NVLink 4, 18 links, 900 GB/s in both directions together (data "
        "sheet)"},
       5,
       GroupRates{
           groups::Generation::Hopper, 1979000000, 1979000000, 4800000,
           "NVIDIA H200 SXM data sheet, 2023: HBM3e of 4.8 TB/s; fp8 3958 "
           "TFLOP/s with sparsity, 1979 dense"}},
      {"b200",
       180000000000,
       2250000000,
       "NVIDIA DGX B200 data sheet, 2025: 1440 GB HBM3e on 8 GPUs; NVIDIA HGX "
       "B200 data sheet, 2024: bf16 36 PFLOP/s of 8 GPUs with sparsity, 2250 "
       "TFLOP/s dense each",
       {18, 900000,
        "NVLink 5, 18 links, 1800 GB/s in both directions together (data "
        "sheet)"},
       5,
       GroupRates{
           groups::Generation::Blackwell, 4500000000, 9000000000, 8000000,
           "NVIDIA DGX B200 data sheet, 2025: HBM3e of 64 TB/s of 8 GPUs; "
           "fp8 72 and fp4 144 PFLOP/s of 8 GPUs with sparsity, half of it "
           "dense"}},
      {"gb200",
       186000000000,
       2500000000,
       "NVIDIA GB200 NVL72 data sheet, 2025: 13.4 TB HBM3e on 72 GPUs, 186 GB "
       "each; bf16 360 PFLOP/s of 72 GPUs with sparsity, 2500 TFLOP/s dense "
       "each",
       {18, 900000,
        "NVLink 5, 18 links, 1800 GB/s in both directions together (data "
        "sheet)"},
       5,
       GroupRates{
           groups::Generation::Blackwell, 5000000000, 10000000000, 8000000,
           "NVIDIA GB200 NVL72 data sheet, 2025: HBM3e of 576 TB/s of 72 GPUs; "
           "fp8 720 and fp4 1440 PFLOP/s of 72 GPUs with sparsity, half of it "
           "dense"}},
      {"b300",
       270000000000,
       2250000000,
       "NVIDIA HGX B300 data sheet, 2025: 2.1 TB HBM3e on 8 GPUs, 270 GB each "
       "usable; bf16 36 PFLOP/s of 8 GPUs with sparsity, 2250 TFLOP/s dense "
       "each",
       {18, 900000,
        "NVLink 5, 18 links, 1800 GB/s in both directions together (data "
        "sheet)"},
       5,
       GroupRates{groups::Generation::BlackwellUltra, 4500000000, 13500000000,
                  8000000,
                  "NVIDIA HGX B300 data sheet, 2025: HBM3e of 64 TB/s of 8 "
                  "GPUs; fp8 72 PFLOP/s of 8 GPUs with sparsity, half of it "
                  "dense; fp4 108 PFLOP/s of 8 GPUs dense"}},
      {"gb300",
       279000000000,
       2500000000,
       "NVIDIA GB300 NVL72 data sheet, 2025: 20 TB HBM3e on 72 GPUs, 279 GB "
       "each; bf16 360 PFLOP/s of 72 GPUs with sparsity, 2500 TFLOP/s dense "
       "each",
       {18, 900000,
        "NVLink 5, 18 links, 1800 GB/s in both directions together (data "
        "sheet)"},
       5,
       GroupRates{
           groups::Generation::BlackwellUltra, 5000000000, 15000000000, 8000000,
           "NVIDIA GB300 NVL72 data sheet, 2025: HBM3e of 576 TB/s of 72 "
           "GPUs; fp8 720 PFLOP/s of 72 GPUs with sparsity, half of it "
           "dense; fp4 1080 PFLOP/s of 72 GPUs dense"}},
      {"a100",
       80000000000,
       312000000,
       "NVIDIA A100 80GB SXM data sheet, 2021: 80 GB HBM2e; bf16 312 TFLOP/s "
       "dense",
       {12, 300000,
        "NVLink 3, 12 links, 600 GB/s in both directions together (data "
        "sheet)"},
       4,
       GroupRates{groups::Generation::Ampere, 312000000, 312000000, 2039000,
                  "NVIDIA A100 80GB SXM data sheet, 2021: HBM2e of 2.039 TB/s; "
                  "no fp8"}},
      {"a6000",
       48000000000,
       154800000,
       "NVIDIA RTX A6000 data sheet, 2020: 48 GB GDDR6; 309.7 TFLOP/s with "
       "sparsity, 154.8 dense",
       {4, 56250,
        "NVLink 3 of GA102, 4 links, 112.5 GB/s in both directions together "
        "(data sheet)"},
       4},
      {"a40",
       48000000000,
       149700000,
       "NVIDIA A40 data sheet, 2020: 48 GB GDDR6; bf16 299.4 TFLOP/s with "
       "sparsity, 149.7 dense",
       {4, 56250,
        "NVLink 3 of GA102, 4 links, 112.5 GB/s in both directions together "
        "(data sheet)"},
       4},
      {"l40s",
       48000000000,
       362050000,
       "NVIDIA L40S data sheet, 2023: 48 GB GDDR6; bf16 733 TFLOP/s with "
       "sparsity, 362.05 dense",
       {},
       4},
      {"rtx4090",
       24000000000,
       165200000,
       "NVIDIA Ada GPU architecture white paper, 2022: GeForce RTX 4090, 24 GB "
       "GDDR6X; bf16 with sums in fp32 330.4 TFLOP/s with sparsity, 165.2 "
       "dense",
       {},
       4},
  };
  return presets;
}

const DevicePreset *findDevicePreset(StringRef name) {
  for (const DevicePreset &preset : devicePresets())
    if (name == preset.name)
      return &preset;
  return nullptr;
}

HostLinkPreset DevicePreset::hostLink() const {
  // An assumption; programs measure it.
  constexpr int64_t latencyNs = 10000;
  if (StringRef(name).starts_with("gb"))
    return {{latencyNs, 450000},
            "NVLink-C2C, 900 GB/s in both directions together (Transformer "
            "Engine documentation, offload of activations)"};
  if (pcieGeneration == 5)
    return {{latencyNs, 64000},
            "PCIe 5.0 x16, 128 GB/s in both directions together (Transformer "
            "Engine documentation, offload of activations)"};
  return {{latencyNs, 24800},
          "PCIe 4.0 x16, 24.8 GB/s of 32 measured in one direction (NVIDIA "
          "developer forum, thread 352186)"};
}

groups::DeviceSheet DevicePreset::sheet() const {
  groups::DeviceSheet sheet;
  sheet.generation = rates->generation;
  sheet.flopsPerUs = {peakFlopsPerUs, rates->fp8FlopsPerUs,
                      rates->fp4FlopsPerUs};
  sheet.memoryBytesPerUs = rates->memoryBytesPerUs;
  sheet.linkBytesPerUs = nvLinks.bytesPerUs;
  sheet.memoryBytes = memoryBytes;
  return sheet;
}

std::vector<PathKind> pathKindsOf(const DevicePreset *device) {
  std::vector<PathKind> kinds = pathKinds().vec();
  if (!device)
    return kinds;
  for (PathKind &kind : kinds)
    if (&kind == &kinds.front()) {
      kind.links = std::max<int64_t>(1, device->nvLinks.count);
      kind.link.bytesPerUs = device->nvLinks.bytesPerUs;
      kind.source = device->nvLinks.source;
    } else if (device->pcieGeneration == 5) {
      kind.link.bytesPerUs = 63015;
      kind.source = "PCIe 5.0 x16 in one direction: 16 lanes of 32 GT/s, 128 "
                    "of 130 bits";
    } else {
      kind.source = "PCIe 4.0 x16 in one direction: 16 lanes of 16 GT/s, 128 "
                    "of 130 bits";
    }
  return kinds;
}

Link NodePreset::link() const {
  return linkOf(*pathOf(path), pathKindsOf(&devicePreset()));
}

const char *NodePreset::linkSource() const {
  return pathKindsOf(&devicePreset())[pathOf(path)->kind].source;
}

ArrayRef<NodePreset> nodePresets() {
  constexpr const char *network400 = "8 NICs of 400 Gb/s a node, one a GPU "
                                     "(NVIDIA DGX H100 data sheet, 2022)";
  constexpr const char *onePerGpu = "one a GPU (data sheet)";
  static const NodePreset presets[] = {
      {"8xh100", "h100", 8, "NV18", {20000, 50000}, network400, 8, onePerGpu},
      {"8xh200",
       "h200",
       8,
       "NV18",
       {20000, 50000},
       "8 NICs of 400 Gb/s a node, one a GPU (NVIDIA DGX H200 data sheet, "
       "2024)",
       8,
       onePerGpu},
      {"8xb200",
       "b200",
       8,
       "NV18",
       {20000, 50000},
       "8 NICs of 400 Gb/s a node, one a GPU (NVIDIA DGX B200 data sheet, "
       "2025)",
       8,
       onePerGpu},
      {"72xgb200",
       "gb200",
       72,
       "NV18",
       {20000, 50000},
       "72 NICs of 400 Gb/s a rack, one a GPU (NVIDIA DGX GB200 data sheet, "
       "2024)",
       72,
       onePerGpu},
      {"8xb300",
       "b300",
       8,
       "NV18",
       {20000, 100000},
       "8 NICs of 800 Gb/s a node, one a GPU (NVIDIA HGX B300 data sheet, "
       "2025)",
       8,
       onePerGpu},
      {"72xgb300",
       "gb300",
       72,
       "NV18",
       {20000, 100000},
       "72 NICs of 800 Gb/s a rack, one a GPU (NVIDIA GB300 NVL72 data sheet, "
       "2025)",
       72,
       onePerGpu},
      {"8xa100",
       "a100",
       8,
       "NV12",
       {20000, 25000},
       "8 NICs of 200 Gb/s a node, one a GPU (NVIDIA DGX A100 data sheet, "
       "2020)",
       8,
       onePerGpu},
      {"pcie-a6000",
       "a6000",
       4,
       "PHB",
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
