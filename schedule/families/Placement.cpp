//===- Placement.cpp - Where the chunks of a rank lie -----------*- C++ -*-===//

#include "schedule/families/Placement.h"

#include <algorithm>

using namespace rondo;

static std::string sizes(const Problem &problem) {
  auto count = [](int32_t number, const char *noun) {
    return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
  };
  return (problem.numStages() == 1 ? "there is " : "there are ") +
         count(problem.numStages(), "stage") + " and " +
         count(problem.numRanks(), "rank");
}

/// The first stage that does not lie where `chunks` has it, with `need`.
static std::optional<NotApplicable> firstElsewhere(const std::string &need,
                                                   const Chunks &chunks,
                                                   const Problem &problem) {
  for (int32_t c = 0; c < chunks.count; ++c)
    for (int32_t i = 0; i < chunks.ranks; ++i) {
      // Along the chunk, so that the stage is the first one that is elsewhere.
      int32_t rank = chunks.isWave && c % 2 == 1 ? chunks.ranks - 1 - i : i;
      int32_t stage = chunks.stage(c, rank);
      if (problem.homeOf(stage).rank != rank)
        return NotApplicable{need + "; stage " + std::to_string(stage) +
                             " is on rank " +
                             std::to_string(problem.homeOf(stage).rank)};
    }
  return std::nullopt;
}

std::optional<NotApplicable>
rondo::needLinearPlacement(const char *family, const Problem &problem) {
  std::string need = std::string(family) + " needs one stage a rank";
  if (problem.numStages() != problem.numRanks())
    return NotApplicable{need + "; " + sizes(problem)};
  return firstElsewhere(need + " in rank order", {problem.numRanks(), 1, false},
                        problem);
}

static std::variant<Chunks, NotApplicable>
needChunks(const std::string &need, const Problem &problem, bool isWave) {
  Chunks chunks{problem.numRanks(), problem.numStages() / problem.numRanks(),
                isWave};
  if (auto reason = firstElsewhere(need, chunks, problem))
    return *reason;
  return chunks;
}

std::variant<Chunks, NotApplicable>
rondo::needLoopedPlacement(const char *family, const Problem &problem) {
  std::string name(family);
  if (problem.numStages() % problem.numRanks() != 0)
    return NotApplicable{name + " needs as many stages on every rank; " +
                         sizes(problem)};
  return needChunks(name + " needs stage s on rank s mod " +
                        std::to_string(problem.numRanks()),
                    problem, false);
}

std::variant<Chunks, NotApplicable>
rondo::needWavePlacement(const char *family, const Problem &problem) {
  std::string name(family);
  if (problem.numStages() % (2 * problem.numRanks()) != 0)
    return NotApplicable{name +
                         " needs an even number of stages on every rank; " +
                         sizes(problem)};
  return needChunks(name + " needs stages that go down and up the ranks",
                    problem, true);
}

std::variant<Chunks, NotApplicable>
rondo::needVPlacement(const char *family, const Problem &problem) {
  std::string name(family);
  if (problem.numStages() != 2 * problem.numRanks())
    return NotApplicable{name + " needs two stages a rank; " + sizes(problem)};
  return needChunks(name + " needs the stages r and " +
                        std::to_string(problem.numStages() - 1) +
                        " - r on rank r",
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
