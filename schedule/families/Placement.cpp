//===- Placement.cpp - Placements of chunks on ranks ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/families/Placement.h"

#include <algorithm>

using namespace rondo;

/// The fault of a family that needs other numbers of stages and ranks.
template <FaultKind kind>
static Fault badSizes(const char *family, const Problem &problem) {
  return makeFault<kind>(family, problem.numStages(), problem.numRanks());
}

/// The first stage on another rank than `chunks` has it on; -1: none.
static int32_t firstElsewhere(const Chunks &chunks, const Problem &problem) {
  for (int32_t c = 0; c < chunks.count; ++c)
    for (int32_t i = 0; i < chunks.ranks; ++i) {
      // Along the chunk, so that stages are visited in their order.
      int32_t rank = chunks.isWave && c % 2 == 1 ? chunks.ranks - 1 - i : i;
      int32_t stage = chunks.stage(c, rank);
      if (problem.rankOf(stage) != rank)
        return stage;
    }
  return -1;
}

std::optional<Fault> rondo::needLinearPlacement(const char *family,
                                                const Problem &problem) {
  if (problem.numStages() != problem.numRanks())
    return badSizes<FaultKind::NotOneStageARank>(family, problem);
  const int32_t stage = firstElsewhere({problem.numRanks(), 1, false}, problem);
  if (stage < 0)
    return std::nullopt;
  return makeFault<FaultKind::NotInRankOrder>(family, stage,
                                              problem.rankOf(stage));
}

/// `needs` are the arguments of the message after the stage and its rank.
template <FaultKind kind, typename... Needs>
static Result<Chunks> needChunks(const char *family, const Problem &problem,
                                 bool isWave, const Needs &...needs) {
  Chunks chunks{problem.numRanks(), problem.numStages() / problem.numRanks(),
                isWave};
  const int32_t stage = firstElsewhere(chunks, problem);
  if (stage < 0)
    return chunks;
  return makeFault<kind>(family, stage, problem.rankOf(stage), needs...);
}

Result<Chunks> rondo::needLoopedPlacement(const char *family,
                                          const Problem &problem) {
  if (problem.numStages() % problem.numRanks() != 0)
    return badSizes<FaultKind::UnevenStages>(family, problem);
  return needChunks<FaultKind::NotInALoop>(family, problem, false,
                                           problem.numRanks());
}

Result<Chunks> rondo::needWavePlacement(const char *family,
                                        const Problem &problem) {
  if (problem.numStages() % (2 * problem.numRanks()) != 0)
    return badSizes<FaultKind::OddStages>(family, problem);
  return needChunks<FaultKind::NotInAWave>(family, problem, true);
}

Result<Chunks> rondo::needVPlacement(const char *family,
                                     const Problem &problem) {
  if (problem.numStages() != 2 * problem.numRanks())
    return badSizes<FaultKind::NotTwoStagesARank>(family, problem);
  return needChunks<FaultKind::NotInAV>(family, problem, true,
                                        problem.numStages() - 1);
}

int64_t rondo::microbatchesThatFit(const Problem &problem) {
  std::vector<int64_t> bytes(problem.numRanks());
  for (int32_t s = 0; s < problem.numStages(); ++s)
    bytes[problem.rankOf(s)] +=
        problem.cost(s, ActionKind::Forward).acquireBytes;
  int64_t fit = problem.microbatches;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    if (bytes[rank] > 0)
      fit = std::min(fit, problem.memoryCaps[rank] / bytes[rank]);
  return fit;
}
