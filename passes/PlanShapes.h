//===- PlanShapes.h - Other ways to lay a model on a cluster ----*- C++ -*-===//

#ifndef RONDO_PASSES_PLANSHAPES_H
#define RONDO_PASSES_PLANSHAPES_H

#include "dialect/Pipe.h"

#include <string>
#include <variant>
#include <vector>

namespace rondo::pipe {

/// Where the chunks of each rank lie; see schedule/families/Placement.h.
enum class Placing : uint8_t { AsWritten, Linear, Interleaved, V, Wave };

/// How a model lies on its cluster, and into how many micro-batches the samples
/// of an iteration are cut.
struct PlanShape {
  Placing placing = Placing::AsWritten;
  /// Stages of each rank.
  int32_t chunks = 1;
  int64_t microbatches = 1;
  /// As many must find room on every rank, with their activations; it does not
  /// belong to the name.
  int64_t held = 1;
  /// Of partitionLayers(): how many cuts of the first layers are gone on with.
  int64_t maxLabels = 2000;

  /// `interleaved v=2 m=16`.
  std::string text() const;
};

/// Makes a plan of `base`'s model on its cluster, behind `base` in the module,
/// with a name of its own and its stages' costs and buffers; or says why there
/// is none; no error is emitted. The plan states a sound problem. `base` is
/// resolved and keeps rule P1; the costs of its stages come from its layers.
///
/// The layers are cut by partitionLayers(). An iteration keeps its samples:
/// with another number of micro-batches a copy of the model, behind it, says
/// their size. Estimated times follow from it; stated times and sizes of layers
/// are taken to be proportional to it, rounded up.
std::variant<PlanOp, std::string> reshapePlan(PlanOp base,
                                              const PlanShape &shape);

/// Whether the stages of `plan` lie on the ranks as `shape` says, however its
/// layers are cut.
bool hasPlacing(PlanOp plan, const PlanShape &shape);

} // namespace rondo::pipe

#endif // RONDO_PASSES_PLANSHAPES_H
