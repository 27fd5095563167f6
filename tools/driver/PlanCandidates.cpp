//===- PlanCandidates.cpp - Plans among which one is chosen ---------------===//

#include "tools/driver/PlanCandidates.h"

#include "dialect/Bridge.h"
#include "schedule/Shortfall.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Evaluate.h"
#include "tools/driver/Report.h"
#include "tools/driver/SearchRun.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

using namespace llvm;

namespace rondo::driver {

/// Whole numbers with commas. False where `text` is no such list.
static bool readNumbers(StringRef text, int64_t least,
                        std::vector<int64_t> &numbers) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    int64_t number = 0;
    if (part.getAsInteger(10, number) || number < least ||
        number >= maxMicrobatches)
      return false;
    if (!is_contained(numbers, number))
      numbers.push_back(number);
  }
  return true;
}

int chooseShapes(const ShapeRequest &request, pipe::PlanOp base,
                 std::vector<pipe::PlanShape> &shapes) {
  using pipe::Placing;
  const std::pair<StringRef, Placing> names[] = {
      {"linear", Placing::Linear},
      {"interleaved", Placing::Interleaved},
      {"v", Placing::V},
      {"wave", Placing::Wave}};
  std::vector<Placing> placings;
  const bool isAnyPlacing =
      request.placements.empty() || request.placements == "auto";
  SmallVector<StringRef> wanted;
  if (!isAnyPlacing)
    StringRef(request.placements).split(wanted, ',');
  for (StringRef name : wanted)
    if (none_of(names, [&](const auto &known) { return known.first == name; }))
      return reportUsage("--placement names '" + name +
                         "'; it takes auto, or some of linear, interleaved, v "
                         "and wave");
  const bool isAsWritten = request.placements.empty() && request.chunks.empty();
  for (const auto &[name, placing] : names)
    if ((!isAsWritten && isAnyPlacing) || is_contained(wanted, name))
      placings.push_back(placing);

  const bool isAnyCount = request.chunks.empty() || request.chunks == "auto";
  std::vector<int64_t> counts, sizes;
  if (!isAnyCount && !readNumbers(request.chunks, 1, counts))
    return reportUsage("--chunks is '" + request.chunks +
                       "'; it takes auto, or numbers such as 1,2,4");
  if (isAnyCount)
    counts = {1, 2, 4};
  if (!request.microbatches.empty() &&
      !readNumbers(request.microbatches, 1, sizes))
    return reportUsage("--microbatches is '" + request.microbatches +
                       "'; it takes numbers from 1 to " +
                       Twine(maxMicrobatches - 1) + " such as 8,16,32");
  if (sizes.empty())
    sizes = {base.getMicrobatches()};

  const int64_t ranks = base.lookupCluster().getDevices().size();
  const bool hasV = is_contained(placings, Placing::V);
  for (int64_t size : sizes) {
    if (isAnyPlacing && isAnyCount)
      shapes.push_back({Placing::AsWritten, 0, size});
    for (Placing placing : placings)
      for (int64_t count : counts) {
        bool fits = false;
        switch (placing) {
        case Placing::AsWritten:
          break;
        case Placing::Linear:
          fits = count == 1;
          break;
        case Placing::Interleaved:
          fits = count > 1;
          break;
        case Placing::V:
          fits = count == 2;
          break;
        case Placing::Wave:
          // A wave of two chunks is the V.
          fits = count % 2 == 0 && !(count == 2 && hasV);
          break;
        }
        if (fits && (ranks > 1 || count == 1))
          shapes.push_back({placing, static_cast<int32_t>(count), size});
      }
  }
  if (shapes.empty())
    return reportUsage(
        "no placement has these chunks: linear has 1, v 2, wave an even "
        "number, interleaved 2 or more, and a single rank 1");
  return Success;
}

/// Takes what stages hold throughout from their ranks' memory. What is wrong,
/// or an empty string.
static std::string takeState(pipe::PlanOp plan, Problem &problem) {
  std::vector<int64_t> state(problem.numRanks()), workspace(problem.numRanks());
  for (const auto &[stage, buffers] : enumerate(pipe::stageBuffers(plan))) {
    const int32_t rank = problem.rankOf(stage);
    for (int kind = 0; kind < int(BufferKind::Workspace); ++kind)
      state[rank] += buffers[kind];
    workspace[rank] =
        std::max(workspace[rank], buffers[int(BufferKind::Workspace)]);
  }
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    int64_t &cap = problem.memoryCaps[rank];
    const int64_t held = state[rank] + workspace[rank];
    if (cap == noMemoryCap)
      continue;
    if (held > cap)
      return "weights and other state of rank " + std::to_string(rank) +
             " take " + countOf(held, "byte") + ", and its device has " +
             std::to_string(cap);
    cap -= held;
  }
  return "";
}

std::vector<Shaped> makeCandidates(pipe::PlanOp base,
                                   const std::vector<pipe::PlanShape> &shapes) {
  std::vector<Shaped> candidates;
  for (const pipe::PlanShape &shape : shapes) {
    Shaped &candidate = candidates.emplace_back();
    candidate.shape = shape;
    auto made = pipe::reshapePlan(base, shape);
    if (auto *why = std::get_if<std::string>(&made)) {
      candidate.why = "no plan: " + *why;
      continue;
    }
    candidate.plan = std::get<pipe::PlanOp>(made);
    // A reshaped plan states a sound problem.
    candidate.problem = *pipe::buildProblem(candidate.plan);
    candidate.problem.name = base.getSymName().str();
    candidate.why = takeState(candidate.plan, candidate.problem);
  }
  for (Shaped &candidate : candidates) {
    if (!candidate.why.empty())
      continue;
    applyObjective(candidate.problem);
    candidate.bound = quickBound(candidate.problem);
    candidate.tightened = candidate.problem;
    if (auto shortfall = findShortfall(candidate.problem)) {
      candidate.why = shortfall->message;
      continue;
    }
    for (Shaped &other : candidates) {
      if (&other == &candidate)
        break;
      bool isEqual = other.plan &&
                     other.shape.microbatches == candidate.shape.microbatches &&
                     equal(other.plan.getStages(), candidate.plan.getStages(),
                           [](pipe::StageOp a, pipe::StageOp b) {
                             return a.getRank() == b.getRank() &&
                                    a.getLayersAttr() == b.getLayersAttr();
                           });
      if (isEqual && candidate.why.empty())
        candidate.why = "the stages of " + other.shape.text();
    }
  }
  return candidates;
}

} // namespace rondo::driver
