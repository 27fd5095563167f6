//===- SourceRules.h - Local rules shared by source ops ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_SOURCERULES_H
#define RONDO_DIALECT_SOURCERULES_H

#include "dialect/Pipe.h"

namespace rondo::pipe {

/// A hand-written figure and its keyword.
struct Figure {
  const char *name;
  int64_t value;
};

/// The first figure below `least` is an error.
inline mlir::LogicalResult verifyFigures(mlir::Operation *op,
                                         llvm::ArrayRef<Figure> figures,
                                         int64_t least = 0) {
  for (const Figure &figure : figures)
    if (figure.value < least)
      return op->emitError() << figure.name << " is " << figure.value
                             << "; the minimum is " << least;
  return mlir::success();
}

/// The same of figures that may be lists by micro-batch.
template <typename Lists>
mlir::LogicalResult verifyFigureLists(mlir::Operation *op, const Lists &lists) {
  for (auto [name, list] : lists)
    for (int64_t value : list)
      if (mlir::failed(verifyFigures(op, {{name, value}})))
        return mlir::failure();
  return mlir::success();
}

/// Either is one number, or one for each micro-batch; lists of other lengths
/// are refused elsewhere.
inline mlir::LogicalResult verifyFrees(mlir::Operation *op,
                                       llvm::ArrayRef<int64_t> frees,
                                       llvm::ArrayRef<int64_t> held) {
  const size_t count = std::max(frees.size(), held.size());
  for (size_t i = 0; i < count; ++i) {
    const int64_t freed = frees[std::min(i, frees.size() - 1)],
                  all = held[std::min(i, held.size() - 1)];
    if (freed > all)
      return op->emitError() << "input_grad_frees_bytes is " << freed
                             << ", more than the activation_bytes of " << all;
  }
  return mlir::success();
}

/// Figures of all micro-batches, or one for all.
inline mlir::LogicalResult verifyWithoutGrad(mlir::Operation *op,
                                             llvm::ArrayRef<int64_t> without,
                                             llvm::ArrayRef<int64_t> outputs) {
  const size_t count = std::max(without.size(), outputs.size());
  for (size_t i = 0; i < count; ++i) {
    const int64_t own = without[std::min(i, without.size() - 1)],
                  output = outputs[std::min(i, outputs.size() - 1)];
    if (own > output)
      return op->emitError() << "output_without_grad_bytes is " << own
                             << ", more than the output_bytes of " << output;
  }
  return mlir::success();
}

/// A size of the runtime's layers, which have 32 bits for it.
mlir::LogicalResult verifySize(mlir::Operation *model, int64_t size);
/// Heads of an equal part of `hidden`.
mlir::LogicalResult verifyHeads(mlir::Operation *model,
                                const ModelSizes &sizes);

/// The region must hold no other ops; `expected` names them.
template <typename... Ops>
mlir::LogicalResult verifyBody(mlir::Operation *op, mlir::Region &body,
                               const char *expected) {
  for (mlir::Operation &inner : body.getOps())
    if (!llvm::isa<Ops...>(inner))
      return inner.emitError()
                 .append("'", inner.getName().getStringRef(),
                         "' does not belong here; this body holds ", expected)
                 .attachNote(op->getLoc())
             << "the body of this '" << op->getName().getStringRef() << "'";
  return mlir::success();
}

template <typename Op> llvm::SmallVector<Op, 0> opsOf(mlir::Region &region) {
  return llvm::to_vector<0>(region.getOps<Op>());
}

/// The next step if a custom layer lacks its sizes for this number of samples.
std::string adviceForSize(CustomAttr custom, int64_t samples);
/// A plan of a model with layers of one size does not state samples, and one of
/// layers that state several has one of these.
mlir::LogicalResult verifySamples(PlanOp plan, ModelOp model);
/// Checks the replicas of a stage without its plan: ranks, shares and buffers.
mlir::LogicalResult verifyReplicas(StageOp stage);
/// The same in its plan, which must be of that model: the replicas take all
/// samples of a micro-batch, and its layers can run on a part of them.
mlir::LogicalResult verifyShares(StageOp stage, PlanOp plan, ModelOp model);
/// Stages that recompute across stages are fed by those that recompute all of
/// their layers, and both have one replica. The inputs are verified.
mlir::LogicalResult verifyRecomputation(PlanOp plan);
/// Advice to take whole micro-batches: `round_robin`, if there is one for each
/// replica, and one rank.
std::string adviceForWholeOnes(StageOp stage, PlanOp plan);
/// Checks `documents` without the plan's model.
mlir::LogicalResult verifyDocuments(PlanOp plan);
/// Checks `tokens` without the plan's model.
mlir::LogicalResult verifyTokens(PlanOp plan);
/// The same with it: its layers take documents, and its stages have no lists by
/// micro-batch.
mlir::LogicalResult verifyTokensOf(PlanOp plan, ModelOp model);
/// The lengths of a row of the largest batch.
llvm::ArrayRef<int64_t> longestRow(PlanOp plan);
/// The layers of a plan of documents take rows of documents.
mlir::LogicalResult verifyTakeDocuments(PlanOp plan, ModelOp model);
/// Lists by micro-batch have an entry for each, documents fit the model, and
/// replicas take whole micro-batches if these differ.
mlir::LogicalResult verifyUneven(PlanOp plan, ModelOp model);
/// Checks `offload` of a stage without its plan.
mlir::LogicalResult verifyOffload(StageOp stage);
/// The same in its plan: its devices have host links, and its layers do not
/// need what leaves. The ranks of the plan are verified.
mlir::LogicalResult verifyOffload(PlanOp plan, ModelOp model,
                                  ClusterOp cluster);

} // namespace rondo::pipe

#endif // RONDO_DIALECT_SOURCERULES_H
