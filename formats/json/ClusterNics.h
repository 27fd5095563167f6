//===- ClusterNics.h - NICs of a node ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_CLUSTERNICS_H
#define RONDO_FORMATS_JSON_CLUSTERNICS_H

#include "formats/json/Cluster.h"
#include "formats/json/Fields.h"

namespace rondo::json {

/// Reads the `nics` of a node of a rondo-cluster, whose text is `text`. The
/// NICs' devices are numbers in the node's list.
std::optional<TextFault> readNics(llvm::StringRef text, Value list,
                                  const std::string &where,
                                  const std::vector<ClusterDevice> &devices,
                                  std::vector<ClusterNic> &nics);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_CLUSTERNICS_H
