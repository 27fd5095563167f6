//===- Placement.cpp - Where the chunks of a rank are -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/families/Placement.h"

#include <algorithm>

using namespace rondo;

/// A family that needs other numbers of stages and ranks.
static Fault badSizes(FaultKind kind, const char *family,
                      const Problem &problem) {
  return makeFault(kind, {std::string(family), int64_t(problem.numStages()),
                          int64_t(problem.numRanks())});
}

/// The first stage that is not where `chunks` has it; `need` is a number in the
/// sentence.
static std::optional<Fault> firstElsewhere(FaultKind kind, const char *family,
                                           int64_t need, const Chunks &chunks,
                                           const Problem &problem) {
  for (int32_t c = 0; c < chunks.count; ++c)
    for (int32_t i = 0; i < chunks.ranks; ++i) {
      // Along the chunk, so that the stage is the first one in another place.
      int32_t rank = chunks.isWave && c % 2 == 1 ? chunks.ranks - 1 - i : i;
      int32_t stage = chunks.stage(c, rank);
      if (problem.homeOf(stage).rank != rank)
        return makeFault(kind, {std::string(family), int64_t(stage),
                                int64_t(problem.homeOf(stage).rank), need});
    }
  return std::nullopt;
}

std::optional<Fault> rondo::needLinearPlacement(const char *family,
                                                const Problem &problem) {
  if (problem.numStages() != problem.numRanks())
    return badSizes(FaultKind::NotOneStageARank, family, problem);
  return firstElsewhere(FaultKind::NotInRankOrder, family, 0,
                        {problem.numRanks(), 1, false}, problem);
}

static Result<Chunks> needChunks(FaultKind kind, const char *family,
                                 int64_t need, const Problem &problem,
                                 bool isWave) {
  Chunks chunks{problem.numRanks(), problem.numStages() / problem.numRanks(),
                isWave};
  if (auto fault = firstElsewhere(kind, family, need, chunks, problem))
    return *fault;
  return chunks;
}

Result<Chunks> rondo::needLoopedPlacement(const char *family,
                                          const Problem &problem) {
  if (problem.numStages() % problem.numRanks() != 0)
    return badSizes(FaultKind::UnevenStages, family, problem);
  return needChunks(FaultKind::NotInALoop, family, problem.numRanks(), problem,
                    false);
}

Result<Chunks> rondo::needWavePlacement(const char *family,
                                        const Problem &problem) {
  if (problem.numStages() % (2 * problem.numRanks()) != 0)
    return badSizes(FaultKind::OddStages, family, problem);
  return needChunks(FaultKind::NotInAWave, family, 0, problem, true);
}

Result<Chunks> rondo::needVPlacement(const char *family,
                                     const Problem &problem) {
  if (problem.numStages() != 2 * problem.numRanks())
    return badSizes(FaultKind::NotTwoStagesARank, family, problem);
  return needChunks(FaultKind::NotInAV, family, problem.numStages() - 1,
                    problem, true);
}

int64_t rondo::microbatchesThatFit(const Problem &problem) {
  std::vector<int64_t> bytes(problem.numRanks());
  for (int32_t s = 0; s < problem.numStages(); ++s)
    bytes[problem.homeOf(s).rank] +=
        problem.cost(s, ActionKind::Forward).acquireBytes;
  int64_t fit = problem.microbatches;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    if (bytes[rank] > 0)
      fit = std::min(fit, problem.memoryCaps[rank] / bytes[rank]);
  return fit;
}
