//===- OffloadText.h - What of a plan's stages may leave --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_OFFLOADTEXT_H
#define RONDO_TOOLS_DRIVER_OFFLOADTEXT_H

#include "dialect/OffloadedParts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <string>
#include <vector>

namespace rondo::driver {

/// A line for each stage of which copies may move something to the host: `stage
/// @s0: @h0.qkv may leave, 6144 bytes of a micro-batch`.
inline std::vector<std::string> whatLeaves(pipe::PlanOp plan) {
  std::vector<std::string> lines;
  const llvm::SmallVector<pipe::LayerOp> layers =
      plan.lookupModel().getLayers();
  for (pipe::StageOp stage : plan.getStages()) {
    const auto costs = stage.getCosts();
    if (!stage.getOffloadAttr() || !costs || !costs->getOffloadBytes())
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
    if (!names.empty())
      lines.push_back(("stage @" + stage.getSymName() + ": " +
                       llvm::join(names, ", ") + " may leave, " +
                       llvm::Twine(*costs->getOffloadBytes()) +
                       " bytes of a micro-batch")
                          .str());
  }
  return lines;
}

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_OFFLOADTEXT_H
