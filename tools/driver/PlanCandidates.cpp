//===- PlanCandidates.cpp - Plans among which one is chosen ---------------===//

#include "tools/driver/PlanCandidates.h"

#include "dialect/Bridge.h"
#include "passes/Passes.h"
#include "schedule/Shortfall.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Evaluate.h"
#include "tools/driver/Report.h"
#include "tools/driver/SearchRun.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

using namespace llvm;

namespace rondo::driver {

namespace {

cl::opt<std::string>
    placements("placement", cl::sub(searchSubCommand()),
               cl::sub(compareSubCommand()), cl::cat(category),
               cl::value_desc("LIST"),
               cl::desc("lay the layers of a .mlir file anew: auto, or some of "
                        "linear,interleaved,v,wave"));
cl::opt<std::string>
    chunks("chunks", cl::sub(searchSubCommand()), cl::sub(compareSubCommand()),
           cl::cat(category), cl::value_desc("LIST"),
           cl::desc("stages of each rank: auto, or numbers such as 1,2,4"));
cl::opt<std::string>
    microbatches("microbatches", cl::sub(searchSubCommand()),
                 cl::sub(compareSubCommand()), cl::cat(category),
                 cl::value_desc("LIST"),
                 cl::desc("numbers of micro-batches into which the samples of "
                          "an iteration are cut, such as 8,16"));
} // namespace

ShapeRequest shapeRequest() { return {placements, chunks, microbatches}; }

int readBasePlan(ModuleFile &file, const std::string &path,
                 pipe::PlanOp &base) {
  if (failed(file.read(path)))
    return Failure;
  SmallVector<pipe::PlanOp> plans(file.module().getOps<pipe::PlanOp>());
  if (plans.size() != 1)
    return reportError(path +
                       ": a search of placements needs one pipe.plan; "
                       "there are " +
                       Twine(plans.size()));
  base = plans.front();
  for (pipe::StageOp stage : base.getStages())
    if (stage.getCostsAttr()) {
      stage.emitError() << "stage @" << stage.getSymName()
                        << " states its own costs, which say nothing of other "
                           "stages; state those of the layers";
      return Failure;
    }
  if (failed(file.run([](mlir::OpPassManager &passes) {
        passes.addPass(pipe::createResolveStages());
        passes.addPass(pipe::createVerifyPartitioned());
      })))
    return file.exitCode();
  return Success;
}

/// Whole numbers with commas. False where `text` is no such list.
static bool readNumbers(StringRef text, int64_t least,
                        std::vector<int64_t> &numbers) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    int64_t number = 0;
    if (part.getAsInteger(10, number) || number < least ||
        number > maxMicrobatches)
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
                       Twine(maxMicrobatches) + " such as 8,16,32");
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

/// L3 and L4 take about so long for a task.
static constexpr int64_t nsOfQuickBound = 1000;

/// A quick bound where it takes little of the time that is left.
static Bound boundWithin(const Problem &problem, const pipe::WallLimit &limit) {
  const int64_t tasks = int64_t(3) * problem.numStages() * problem.microbatches;
  return tasks / 1000000 * nsOfQuickBound > limit.leftMs() / 8
             ? roughBound(problem)
             : quickBound(problem);
}

/// As many labels of a cut as about so many milliseconds are for.
static int64_t labelsWithin(int64_t ms, int64_t stages, int64_t layers) {
  const int64_t most = pipe::PlanShape().maxLabels;
  const int64_t nsOfLabel = std::max<int64_t>(300000, 10 * stages * layers);
  if (ms >= most * nsOfLabel / 1000000)
    return most;
  return std::max<int64_t>(16, ms * 1000000 / nsOfLabel);
}

/// The plan of a shape with its problem and bound, or why it is none. A cut of
/// layers takes a part of what is left of the first `part` of the limit.
static Shaped makeCandidate(pipe::PlanOp base, pipe::PlanShape shape,
                            const pipe::WallLimit &limit, double part) {
  Shaped candidate;
  shape.maxLabels = labelsWithin(limit.leftMs(part) / 2,
                                 int64_t(shape.chunks) *
                                     base.lookupCluster().getDevices().size(),
                                 base.lookupModel().getLayers().size());
  candidate.shape = shape;
  auto made = pipe::reshapePlan(base, shape);
  if (auto *why = std::get_if<std::string>(&made)) {
    candidate.why = "no plan: " + *why;
    return candidate;
  }
  candidate.plan = std::get<pipe::PlanOp>(made);
  // A reshaped plan states a sound problem.
  candidate.problem = *pipe::buildProblem(candidate.plan);
  candidate.problem.name = base.getSymName().str();
  // A chosen plan is one that compiles, so what weights are not declared is 0.
  pipe::takeState(candidate.plan, candidate.problem);
  candidate.figures = pipe::figuresOf(candidate.plan);
  applyObjective(candidate.problem);
  if (auto shortfall = findShortfall(candidate.problem))
    candidate.why = shortfall->reason;
  candidate.bound = candidate.why.empty()
                        ? boundWithin(candidate.problem, limit)
                        : roughBound(candidate.problem);
  return candidate;
}

/// Stages times micro-batches up to which several cuts of a shape are bounded.
static constexpr int64_t mostTasksOfCuts = 30000;

/// Takes `other` in place of `best` where its bound is less; the plan of the
/// other one leaves the module.
static bool takeBetter(Shaped &best, Shaped other) {
  const bool isBetter = other.plan && other.why.empty() &&
                        (!best.why.empty() || other.bound.ns < best.bound.ns);
  if (isBetter)
    std::swap(best, other);
  if (other.plan)
    other.plan.erase();
  return isBetter;
}

/// The file's own cut is one of those for its placement: people know of memory
/// what equal room on every rank does not say.
static void tryOwnCut(pipe::PlanOp base, Shaped &best,
                      const pipe::WallLimit &limit) {
  if (best.shape.placing == pipe::Placing::AsWritten ||
      !pipe::hasPlacing(base, best.shape))
    return;
  const pipe::PlanShape shape = best.shape;
  Shaped own = makeCandidate(
      base, {pipe::Placing::AsWritten, 0, shape.microbatches}, limit, 1);
  own.shape = shape;
  takeBetter(best, std::move(own));
}

/// The least busy busiest rank is not all: where memory is scarce a cut with
/// room for more micro-batches can be faster. Takes the cut with the least
/// bound, within the first `part` of the limit.
static void tryRoomierCuts(pipe::PlanOp base, Shaped &best,
                           const pipe::WallLimit &limit, double part) {
  pipe::PlanShape shape = best.shape;
  if (shape.placing == pipe::Placing::AsWritten || !best.plan)
    return;
  const Problem &problem = best.problem;
  const bool hasCaps = any_of(problem.memoryCaps,
                              [](int64_t cap) { return cap != noMemoryCap; });
  const int64_t ranks = problem.numRanks();
  if (!hasCaps ||
      int64_t(problem.numStages()) * problem.microbatches > mostTasksOfCuts)
    return;
  for (int64_t held : {ranks / 2, ranks, 2 * ranks}) {
    held = std::min(held, shape.microbatches);
    if (held <= shape.held)
      continue;
    if (limit.isOver(part))
      return;
    shape.held = held;
    Shaped other = makeCandidate(base, shape, limit, part);
    // With more there is no room either.
    if (!other.plan)
      return;
    takeBetter(best, std::move(other));
  }
}

std::vector<Shaped> makeCandidates(pipe::PlanOp base,
                                   const std::vector<pipe::PlanShape> &shapes,
                                   const pipe::WallLimit &limit) {
  // Of the limit, for a candidate of each shape and for better cuts of them.
  constexpr double partOfAll = 0.5, partOfCuts = 0.3;
  std::vector<Shaped> candidates;
  bool isAny = false;
  for (const pipe::PlanShape &shape : shapes) {
    if (!candidates.empty() && limit.isOver(isAny ? partOfAll : 1)) {
      Shaped left;
      left.shape = shape;
      left.why = noTime;
      candidates.push_back(std::move(left));
      continue;
    }
    candidates.push_back(makeCandidate(base, shape, limit, partOfAll));
    tryOwnCut(base, candidates.back(), limit);
    isAny |= candidates.back().why.empty();
  }
  for (Shaped &candidate : candidates)
    tryRoomierCuts(base, candidate, limit, partOfCuts);
  for (Shaped &candidate : candidates) {
    if (!candidate.why.empty())
      continue;
    candidate.tightened = candidate.problem;
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

MapVector<const Shaped *, std::string> planless(ArrayRef<Shaped> candidates) {
  MapVector<StringRef, SmallVector<const Shaped *>> byReason;
  for (const Shaped &candidate : candidates)
    if (!candidate.plan)
      byReason[candidate.why].push_back(&candidate);
  MapVector<const Shaped *, std::string> result;
  for (const auto &[reason, shared] : byReason) {
    const bool isOften = shared.size() > 2;
    for (const Shaped *candidate : shared)
      result[candidate] = candidate->shape.text();
    if (!isOften)
      continue;
    result[shared.front()] +=
        " and " + std::to_string(shared.size() - 1) + " more";
    for (const Shaped *candidate : drop_begin(shared))
      result.erase(candidate);
  }
  return result;
}

} // namespace rondo::driver
