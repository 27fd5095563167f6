//===- Pipe.h - The pipe dialect --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_PIPE_H
#define RONDO_DIALECT_PIPE_H

#include "kinds/Buffers.h"
#include "runtime/model/layer.h"
#include "schedule/model/Action.h"
#include "schedule/model/Problem.h"
#include "schedule/program/Program.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>

namespace rondo::pipe {
class ClusterOp;
class CollectiveOp;
class DeviceOp;
class LayerOp;
class LinkOrderOp;
class CopyOrderOp;
class ModelOp;
class PlaceOp;
class PlanOp;
class PoolOp;
class RankOp;
class ScheduleOp;
class StageOp;

/// The sizes that all architectures have.
struct ModelSizes {
  int64_t vocab, sequence, hidden, heads, ffn, batch;
  bool tied;
};

/// A micro-batch as a sum: factors[k] * variable k + constant.
struct LinearIndex {
  llvm::SmallVector<int64_t, 4> factors;
  int64_t constant = 0;
};

/// None where the map is no such sum of one result.
std::optional<LinearIndex> linearIndex(mlir::AffineMap map);

/// Limits of what people may write in loops and indices, so that no sum of
/// products can overflow. Far beyond the most micro-batches there can be.
inline constexpr int64_t maxLoopBound = int64_t(1) << 30;
inline constexpr int64_t maxIndexFactor = int64_t(1) << 24;

/// Times and sizes of a layer that states none.
inline constexpr int64_t noTime[] = {0};

/// The most schedules of an adaptive executable that names no number.
inline constexpr int64_t defaultCandidates = 8;

/// The figures of a timed layer for one micro-batch (SyntheticAttr).
struct SyntheticCosts {
  int64_t forwardNs = 0, inputGradNs = 0, weightGradNs = 0;
  int64_t activationBytes = 0, inputGradFreesBytes = 0, outputBytes = 0,
          inputGradKeepsBytes = 0;
};

/// The figures of a stage for one micro-batch (StageCostsAttr).
struct StageCosts {
  int64_t forwardNs = 0, inputGradNs = 0, weightGradNs = 0;
  int64_t activationBytes = 0, inputGradFreesBytes = 0, outputBytes = 0;
  int64_t stepNs = 0, recomputeNs = 0, recomputedBytes = 0, checkpointBytes = 0;
  int64_t inputGradKeepsBytes = 0, outputWithoutGradBytes = 0;
  std::optional<int64_t> offloadBytes;
};

namespace detail {
/// The index is one sum of multiples of enclosing loop variables.
mlir::LogicalResult verifyIndex(mlir::Operation *op);
/// The stage is one of the plan that the enclosing schedule or program is of.
mlir::LogicalResult verifyStageUse(mlir::Operation *op,
                                   mlir::FlatSymbolRefAttr stage,
                                   mlir::SymbolTableCollection &tables);
/// The collective is one of the enclosing program.
mlir::LogicalResult verifyCollectiveUse(mlir::Operation *op,
                                        mlir::FlatSymbolRefAttr collective,
                                        mlir::SymbolTableCollection &tables);
} // namespace detail
} // namespace rondo::pipe

#include "dialect/PipeDialect.h.inc"
#include "dialect/PipeEnums.h.inc"
#include "dialect/PipeInterfaces.h.inc"
#include "dialect/PipeModelInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/PipeAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialect/PipeOps.h.inc"

#endif // RONDO_DIALECT_PIPE_H
