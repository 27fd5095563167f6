//===- cluster.cpp - Fuzzes the reader of rondo-cluster/1 -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/Cluster.h"
#include "test/fuzz/Target.h"

#include <set>

using namespace rondo;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<json::Cluster> cluster = json::readCluster(fuzz::textOf(data, size));
  if (!cluster) {
    fuzz::require(!describe(cluster.fault()).empty(), "an error says why");
    return 0;
  }
  std::set<std::string> names;
  for (const json::ClusterDevice &device : cluster->devices) {
    fuzz::require(names.insert(device.name).second, "names are unique");
    fuzz::require(device.memoryBytes >= 1 && device.flopsPerUs >= 0,
                  "devices have memory");
  }
  fuzz::require(!names.empty(), "a cluster has devices");
  const int32_t count = static_cast<int32_t>(names.size());
  for (const auto &[pair, link] : cluster->links)
    fuzz::require(pair.first >= 0 && pair.first < count && pair.second >= 0 &&
                      pair.second < count && pair.first != pair.second &&
                      link.latencyNs >= 0 && link.bytesPerUs >= 1,
                  "links lead from one device to another");
  return 0;
}
