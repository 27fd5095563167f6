//===- BatchLimits.cpp - Plans whose programs draw documents --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Such a plan states limits of its batches, and is the plan of the largest one.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bridge.h"
#include "dialect/SourceRules.h"

#include "kinds/Shares.h"

#include <algorithm>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// Rows are sized in 32 bits.
static constexpr int64_t maxRowTokens = int64_t(1) << 30;
/// Documents of the longest row.
static constexpr int64_t maxDocuments = int64_t(1) << 16;

LogicalResult rondo::pipe::verifyTokens(PlanOp plan) {
  TokensAttr tokens = plan.getTokensAttr();
  if (!tokens)
    return success();
  auto refuse = [&](StringRef other, StringRef why) {
    return plan.emitError()
           << "plan @" << plan.getSymName() << " has both " << other
           << " and tokens: " << why << "; leave out one of them";
  };
  if (plan.getSamplesAttr())
    return refuse("samples", "a micro-batch is one row of documents");
  if (plan.getDocumentsAttr())
    return refuse("documents", "documents are of one batch, and tokens are "
                               "limits of all that the program draws");
  if (tokens.getMost() < 1 || tokens.getMost() > maxRowTokens)
    return plan.emitError() << "most is " << tokens.getMost()
                            << " tokens; it must be from 1 to " << maxRowTokens;
  if (tokens.getInFlight() < tokens.getMost() ||
      tokens.getInFlight() > maxRowTokens)
    return plan.emitError()
           << "in_flight is " << tokens.getInFlight()
           << " tokens; it must be from " << tokens.getMost()
           << ", the most of a micro-batch, to " << maxRowTokens;
  return success();
}

/// Refuses what programs that draw documents do not support yet.
static LogicalResult verifyStage(StageOp stage, PlanOp plan) {
  auto refuse = [&](StringRef what, StringRef advice) {
    InFlightDiagnostic error = stage.emitError()
                               << "plan @" << plan.getSymName()
                               << " draws documents, but stage @"
                               << stage.getSymName() << " " << what << ": "
                               << advice;
    error.attachNote(plan.getLoc())
        << "plan @" << plan.getSymName() << " is here";
    return error;
  };
  if (stage.getOffloadAttr())
    return refuse("offloads, which do not go together yet",
                  "leave out `offload`");
  StageCostsAttr costs = stage.getCostsAttr();
  if (!stage.buffersByMicrobatch().empty() ||
      (costs && llvm::any_of(costs.getLists(), [](const auto &list) {
         return list.second.size() > 1;
       })))
    return refuse("lists figures by micro-batch",
                  "write one number, that of the largest micro-batch");
  return success();
}

LogicalResult rondo::pipe::verifyTokensOf(PlanOp plan, ModelOp model) {
  if (failed(verifyTakeDocuments(plan, model)))
    return failure();
  const int64_t most = plan.getTokensAttr().getMost();
  if (const int64_t sequence = model.getSizes()->sequence;
      most > maxDocuments * sequence)
    return plan.emitError()
           << "a micro-batch of " << most << " tokens may have more than "
           << maxDocuments << " documents of the model's sequence of "
           << sequence << ": lower most";
  for (StageOp stage : plan.getStages())
    if (failed(verifyStage(stage, plan)))
      return failure();
  return success();
}

int64_t PlanOp::getMostOfDocument() {
  const int64_t most = getTokensAttr().getMost();
  ModelOp model = lookupModel();
  const std::optional<ModelSizes> sizes =
      model ? model.getSizes() : std::nullopt;
  return sizes ? std::min<int64_t>(most, sizes->sequence) : most;
}

ArrayRef<int64_t> rondo::pipe::longestRow(PlanOp plan) {
  const int64_t most = plan.getTokensAttr().getMost(),
                document = std::max<int64_t>(1, plan.getMostOfDocument());
  SmallVector<int64_t> lengths(
      std::clamp<int64_t>(most / document, 0, maxDocuments), document);
  if (const int64_t rest = most % document)
    lengths.push_back(rest);
  // The context keeps it.
  return DenseI64ArrayAttr::get(plan.getContext(), lengths).asArrayRef();
}

int64_t rondo::pipe::bytesInFlight(PlanOp plan, int64_t bytesOfRow) {
  TokensAttr tokens = plan.getTokensAttr();
  return partOfUp(bytesOfRow, tokens.getInFlight(), tokens.getMost());
}

void rondo::pipe::limitToTokens(PlanOp plan, Problem &problem) {
  if (!plan.getTokensAttr())
    return;
  std::vector<int64_t> held(problem.memoryCaps.size(), 0);
  for (int32_t h = 0; h < problem.numReplicas(); ++h)
    for (ActionKind kind :
         {ActionKind::Forward, ActionKind::Recompute, ActionKind::InputGrad})
      held[problem.rankOf(h)] += problem.cost(h, kind).acquireBytes;
  for (auto [rank, bytes] : llvm::enumerate(held)) {
    int64_t &cap = problem.memoryCaps[rank];
    const int64_t limit = bytesInFlight(plan, bytes);
    if (cap <= limit)
      continue;
    cap = limit;
    // Errors compare with this memory.
    if (!problem.devices.empty())
      problem.devices[rank].deviceBytes =
          problem.devices[rank].stateBytes + limit;
  }
}
