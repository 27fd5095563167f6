//===- Cluster.h - Devices and links ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_CLUSTER_H
#define RONDO_FORMATS_JSON_CLUSTER_H

#include "schedule/model/Problem.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>
#include <vector>

namespace rondo::json {

struct ClusterDevice {
  std::string name;
  int64_t memoryBytes = noMemoryCap;
  /// 0: unknown.
  int64_t flopsPerUs = 0;
  /// The data sheet's figure. 0: unknown.
  int64_t peakFlopsPerUs = 0;
  /// Its link to the host; nothing: unknown.
  std::optional<HostLink> hostLink;
};

/// A NIC.
struct ClusterNic {
  std::string name;
  /// Ranks, each on no other NIC.
  std::vector<int32_t> devices;
  int64_t bytesPerUs = 1;
  /// The number of its server; -1: one of its own.
  int32_t server = -1;
};

/// A link to the host that devices share, with the figures of their own links.
struct ClusterHostLink {
  /// Ranks, each on no other shared link.
  std::vector<int32_t> devices;
};

/// A cluster as the language has it: devices by rank, one link for all pairs,
/// and links of single directed pairs.
struct Cluster {
  std::string name = "cluster";
  std::vector<ClusterDevice> devices;
  Link link;
  std::map<std::pair<int32_t, int32_t>, Link> links;
  std::vector<ClusterNic> nics;
  std::vector<ClusterHostLink> hostLinks;

  /// Sets all links. What most pairs have becomes the link of all pairs.
  /// O(pairs).
  void setLinks(llvm::function_ref<Link(int32_t from, int32_t to)> linkOf);
};

/// The most ns or bytes per microsecond of a link, and the most operations per
/// microsecond of a device.
inline constexpr int64_t maxClusterFigure = int64_t(1) << 40;
/// A matrix of links is quadratic.
inline constexpr int64_t maxClusterDevices = 4096;

/// The keys of rondo-cluster/1.
const class TableBase &clusterTable();

/// Reads a rondo-cluster/1 object. The error is one sentence.
Result<Cluster> readCluster(llvm::StringRef text);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_CLUSTER_H
