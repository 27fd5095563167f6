//===- profile.cpp - Fuzzes the reader of PipeDream's profiles ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/GraphProfile.h"
#include "test/fuzz/Target.h"

#include <vector>

using namespace rondo;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<formats::GraphProfile> profile =
      formats::readGraphProfile(fuzz::textOf(data, size));
  if (!profile) {
    fuzz::require(!describe(profile.fault()).empty(), "an error says why");
    return 0;
  }
  const size_t count = profile->nodes.size();
  std::vector<bool> isPlaced(count);
  size_t placed = 0;
  const std::vector<formats::ProfileLayer> layers = formats::chainOf(*profile);
  for (const formats::ProfileLayer &layer : layers) {
    fuzz::require(!layer.nodes.empty() && layer.outputBytes >= 0,
                  "a layer has nodes");
    for (uint32_t node : layer.nodes) {
      fuzz::require(node < count && !isPlaced[node], "a node has one layer");
      for (uint32_t input : profile->nodes[node].inputs)
        fuzz::require(isPlaced[input], "inputs come first");
      isPlaced[node] = true;
      ++placed;
    }
  }
  fuzz::require(placed == count, "every node has a layer");
  return 0;
}
