//===- OffloadedParts.h - What of a layer may leave its device --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_OFFLOADEDPARTS_H
#define RONDO_DIALECT_OFFLOADEDPARTS_H

#include "dialect/Pipe.h"

#include <cstdint>

namespace rondo::pipe {

/// LayerDesc::offloads of a layer of the stage (runtime/model/saved_parts.h).
uint64_t offloadedParts(StageOp stage, LayerOp layer);

/// The layer of the stage that an entry of `offload` names, or of which it
/// names a part; null if there is none.
mlir::FlatSymbolRefAttr layerOfOffload(StageOp stage,
                                       mlir::FlatSymbolRefAttr entry);

/// Whether R of a stage begins with something that can leave: not with the data
/// of the model, nor with what the stages that feed it recompute.
bool keepsCheckpoint(StageOp stage, bool hasInputs);

/// Whether it is the input with which R begins that leaves.
bool areCheckpoints(uint64_t parts);

/// The names of a set of a layer's parts: `qkv`, `attention`; one that is empty
/// if all parts are in it.
llvm::SmallVector<std::string> namesOfParts(LayerOp layer, uint64_t parts);

} // namespace rondo::pipe

#endif // RONDO_DIALECT_OFFLOADEDPARTS_H
