//===- Topology.h - What nvidia-smi topo -m prints --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_TOPOLOGY_H
#define RONDO_FORMATS_TOPOLOGY_H

#include "schedule/model/Problem.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::formats {

/// The kind of a connection between two devices, with nvidia-smi's names.
struct PathKind {
  const char *name;
  const char *meaning;
  /// `bytesPerUs` is that of `links` links side by side.
  Link link;
  /// The source of `link.bytesPerUs`.
  const char *source;
  int64_t links = 1;
};
/// The first is NV. The rates are an assumption about a device that is not
/// known: those of one NVLink 2 to 4, and of PCIe 4.0.
llvm::ArrayRef<PathKind> pathKinds();

struct Path {
  /// In pathKinds().
  unsigned kind = 0;
  /// Links side by side; 1 for all kinds but NV.
  int64_t links = 1;
};
/// Reads `NV4`, `SYS`; nullopt if it is no kind of path.
std::optional<Path> pathOf(llvm::StringRef cell);
/// As nvidia-smi writes it: `NV4`, `SYS`.
std::string nameOf(Path path);
/// Latency and rate of a path; `kinds` are pathKinds(), perhaps with other
/// figures.
Link linkOf(Path path, llvm::ArrayRef<PathKind> kinds);

/// The devices of one node.
struct Topology {
  std::vector<std::string> devices;
  /// NICs, which carry nothing between the devices of a node.
  std::vector<std::string> nics;
  /// [row][column], both devices.
  std::vector<std::vector<Path>> paths;
  /// The line of each device's row in the file.
  std::vector<int64_t> lines;
};

/// The devices behind one PCIe switch, whose paths to each other are PIX or PXB
/// or lead over such devices; groups of two or more.
std::vector<std::vector<int32_t>> switchesOf(const Topology &topology);

/// Reads the table that `nvidia-smi topo -m` prints, with or without its
/// legend, as people paste it: after a prompt or other lines, in a block of
/// Markdown, quoted, indented, with a terminal's escapes, or with the tabs
/// between cells lost (`NODENODE`). The error is one sentence that begins with
/// the line, and the column of a word.
Result<Topology> readTopology(llvm::StringRef text);

/// Whether the text has a heading as readTopology() takes it and the row of a
/// device, however these go on.
bool isTopology(llvm::StringRef text);

} // namespace rondo::formats

#endif // RONDO_FORMATS_TOPOLOGY_H
