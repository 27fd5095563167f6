//===- GraphProfile.h - PipeDream's profiles of models ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph.txt that PipeDream's profiler writes (Narayanan et al., SOSP 2019):
// a line for each operation of the model, with its times in ms and its sizes in
// bytes, and an indented line for each edge. All figures are of one batch,
// whose size the file does not state.
//
//   node2 -- Conv2d(3, 64) -- forward_compute_time=22.307, \
//     backward_compute_time=24.613, activation_size=1644167168.000, \
//     parameter_size=7168.000
//   <tab>node1 -- node2
//
// PipeDream's optimizer adds ` -- stage_id=0` to the nodes.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_GRAPHPROFILE_H
#define RONDO_FORMATS_GRAPHPROFILE_H

#include "schedule/model/Fault.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::formats {

struct ProfileNode {
  /// As the file has them: `node2`, `Conv2d(3, 64)`.
  std::string id, description;
  int64_t forwardNs = 0, backwardNs = 0;
  /// The sum of a list. Rounded up to whole bytes, like the parameters.
  int64_t activationBytes = 0, parameterBytes = 0;
  /// Places in `GraphProfile::nodes`.
  std::vector<uint32_t> inputs;
};

/// A graph without cycles and with at least one node.
struct GraphProfile {
  std::vector<ProfileNode> nodes;
  /// Whether PipeDream's optimizer has added stages.
  bool hasStages = false;
};

/// Reads a profile. The error is one sentence with line and column. O(text).
Result<GraphProfile> readGraphProfile(llvm::StringRef text);

/// A part of the graph between two cuts.
struct ProfileLayer {
  /// Places of its nodes, in an order in which they can run.
  std::vector<uint32_t> nodes;
  /// Bytes of its output to the next layer; 0 for the last one.
  int64_t outputBytes = 0;
};

/// The graph as a chain. A cut is where a single result is needed after it,
/// of whatever many nodes; what lies between two cuts is one layer. Three
/// things make room for cuts:
/// - what is given, and not computed, is needed everywhere without a message:
///   sources whose descriptions begin with `Input` or that have no bytes, and
///   what is made of these alone and has no bytes;
/// - nodes stand as late as possible, directly before what needs them;
/// - nodes whose results do not reach the last node stand as early as possible.
/// O(nodes + edges, with a sort of each node's inputs).
std::vector<ProfileLayer> chainOf(const GraphProfile &profile);

/// Whether the node is an input of the model, whose time is that of loading.
bool isModelInput(const ProfileNode &node);

} // namespace rondo::formats

#endif // RONDO_FORMATS_GRAPHPROFILE_H
