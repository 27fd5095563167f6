//===- Topology.h - What nvidia-smi topo -m prints --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_TOPOLOGY_H
#define RONDO_FORMATS_TOPOLOGY_H

#include "schedule/Problem.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace rondo::formats {

/// What a connection of two devices passes. The names are those of nvidia-smi.
struct PathKind {
  const char *name;
  const char *meaning;
  /// The default figures; those of NV are for each of its links.
  Link link;
  /// Where `link.bytesPerUs` comes from.
  const char *source;
};
/// The first is NV.
llvm::ArrayRef<PathKind> pathKinds();

struct Path {
  /// In pathKinds().
  unsigned kind = 0;
  /// Links side by side; 1 for all kinds but NV.
  int64_t links = 1;
};

/// The devices of one node.
struct Topology {
  std::vector<std::string> devices;
  /// Network cards, which carry nothing between the devices of a node.
  std::vector<std::string> cards;
  /// By row and column, both devices.
  std::vector<std::vector<Path>> paths;
};

/// Reads the table that `nvidia-smi topo -m` prints, with or without its
/// legend. The error is one sentence with a line.
llvm::Expected<Topology> readTopology(llvm::StringRef text);

} // namespace rondo::formats

#endif // RONDO_FORMATS_TOPOLOGY_H
