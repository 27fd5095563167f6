//===- OffloadText.h - What of a plan's stages may leave --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_OFFLOADTEXT_H
#define RONDO_TOOLS_DRIVER_OFFLOADTEXT_H

#include "dialect/OffloadedParts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <string>
#include <vector>

namespace rondo::driver {

/// A line for each stage of which copies may move something to the host: `stage
/// @s0: @h0.qkv may leave, 6144 bytes of a micro-batch`, or `4096 to 6144
/// bytes`.
inline std::vector<std::string> whatLeaves(pipe::PlanOp plan) {
  std::vector<std::string> lines;
  const llvm::SmallVector<pipe::LayerOp> layers =
      plan.lookupModel().getLayers();
  for (pipe::StageOp stage : plan.getStages()) {
    const auto costs = stage.getCosts();
    if (!stage.getOffloadAttr() || !costs || costs->getOffloadBytes().empty())
      continue;
    std::vector<std::string> names;
    for (pipe::LayerOp layer : layers) {
      if (!llvm::is_contained(stage.getLayers(), mlir::FlatSymbolRefAttr::get(
                                                     layer.getSymNameAttr())))
        continue;
      const std::string name = "@" + layer.getSymName().str();
      const uint64_t parts = pipe::offloadedParts(stage, layer);
      for (const std::string &part : pipe::namesOfParts(layer, parts))
        names.push_back(part.empty() ? name : name + "." + part);
      if (names.empty() && pipe::areCheckpoints(parts))
        names.push_back("checkpoints");
    }
    if (names.empty())
      continue;
    const auto [least, most] = std::minmax_element(
        costs->getOffloadBytes().begin(), costs->getOffloadBytes().end());
    const std::string bytes =
        std::to_string(*least) +
        (*least == *most ? "" : " to " + std::to_string(*most));
    lines.push_back(("stage @" + stage.getSymName() + ": " +
                     llvm::join(names, ", ") + " may leave, " + bytes +
                     " bytes of a micro-batch")
                        .str());
  }
  return lines;
}

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_OFFLOADTEXT_H
