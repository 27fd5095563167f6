//===- topology.cpp - Fuzzes the reader of nvidia-smi's topology ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/Topology.h"
#include "test/fuzz/Target.h"

using namespace rondo;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<formats::Topology> topology =
      formats::readTopology(fuzz::textOf(data, size));
  if (!topology) {
    fuzz::require(!describe(topology.fault()).empty(), "an error says why");
    return 0;
  }
  const size_t count = topology->devices.size();
  fuzz::require(count > 0 && topology->paths.size() == count,
                "there is a row for each device");
  for (const auto &row : topology->paths) {
    fuzz::require(row.size() == count, "rows have a column for each device");
    for (const formats::Path &path : row)
      fuzz::require(path.kind < formats::pathKinds().size() && path.links >= 1,
                    "paths are of a known kind");
  }
  return 0;
}
