//===- PlanSearch.cpp - Searches placement and shape of a plan ------------===//
//
// Every candidate is bounded before it is searched, and dropped where its bound
// is not below the best that was found. The others are searched in three rounds
// that share time and effort: all of them, the better quarter, the best one.
//
//===----------------------------------------------------------------------===//

#include "tools/driver/PlanSearch.h"

#include "dialect/Bridge.h"
#include "formats/json/ProblemWriter.h"
#include "passes/Passes.h"
#include "schedule/Shortfall.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/ModuleFile.h"
#include "tools/driver/PlanCandidates.h"
#include "tools/driver/Report.h"
#include "tools/driver/SearchRun.h"
#include "tools/driver/Table.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

#include <algorithm>

using namespace llvm;

namespace rondo::driver {

namespace {

class PlanSearcher {
public:
  explicit PlanSearcher(const PlanSearchRequest &request)
      : request(request), limit(searchOptions().timeLimitMs) {}

  int run();

private:
  void searchRound(const std::vector<Shaped *> &members, double share,
                   double shareOfLeft, Progress &progress);
  void searchOne(Shaped &candidate, const SearchOptions &options,
                 Progress &progress);
  void searchAll();
  bool isAnyFound() const {
    return any_of(candidates,
                  [](const Shaped &c) { return c.found.has_value(); });
  }
  /// The output is a module, whose schedule promises the sequential run's bits.
  bool isModule() const { return StringRef(request.output).ends_with(".mlir"); }
  mlir::OwningOpRef<mlir::ModuleOp> moduleOf(Shaped &candidate);
  Shaped *chooseBest();
  std::string nearest() const;
  void printTable(const Shaped *best, raw_ostream &os);
  int64_t boundOfAll() const;
  int write(Shaped &best);

  const PlanSearchRequest &request;
  const pipe::WallLimit limit;
  ModuleFile file;
  pipe::PlanOp base;
  std::vector<Shaped> candidates;
};

} // namespace

static int64_t tasksOf(const Problem &problem) {
  return int64_t(3) * problem.numStages() * problem.microbatches;
}

/// A search makes a first schedule in any case, and then its program.
static int64_t leastMsOf(const Problem &problem) {
  constexpr int64_t nsOfTask = 600;
  return tasksOf(problem) * nsOfTask / 1000000;
}

/// Keeps the better of what was found before and of schedules whose programs
/// fit the devices.
void PlanSearcher::searchOne(Shaped &candidate, const SearchOptions &options,
                             Progress &progress) {
  auto run = [&](const Problem &problem, const SearchOptions &now) {
    return runSearch(problem, now, progress, candidate.shape.text());
  };
  const std::vector<int64_t> caps = candidate.tightened.memoryCaps;
  SearchResult result = pipe::searchFitting(
      {candidate.figures, candidate.problem, candidate.bound,
       candidate.tightened, run, [&] { return isAnyFound() || limit.isOver(); },
       /*triesFamilies=*/!candidate.found},
      options);
  if (result.schedule) {
    candidate.keep(std::move(result));
    // What an earlier round did not find.
    candidate.why.clear();
  } else if (candidate.found) {
    candidate.tightened.memoryCaps = caps;
  } else {
    candidate.why = result.reason;
  }
}

/// Splits `share` of the effort, and `shareOfLeft` of the time that is left,
/// among `members`. Of effort, what one leaves over is not given to others, so
/// that it alone decides what is found; time that is left over is.
void PlanSearcher::searchRound(const std::vector<Shaped *> &members,
                               double share, double shareOfLeft,
                               Progress &progress) {
  const pipe::WallLimit round(
      limit.exists()
          ? std::max<int64_t>(1, int64_t(double(limit.leftMs()) * shareOfLeft))
          : 0);
  for (auto [place, candidate] : enumerate(members)) {
    int64_t best = noObjective;
    for (const Shaped &other : candidates)
      best = std::min(best, other.objective());
    if (candidate->knownBound() >= best) {
      if (!candidate->found)
        candidate->why = "no better: its bound is not below the best";
      continue;
    }
    if (Interrupt::happened())
      return;
    if (limit.leftMs() <= leastMsOf(candidate->problem) && isAnyFound()) {
      if (!candidate->found)
        candidate->why = noTime;
      continue;
    }
    SearchOptions options = searchOptions();
    options.inIndexOrder = isModule();
    const double part = share / double(members.size());
    if (options.effort > 0)
      options.effort = std::max<int64_t>(1, int64_t(options.effort * part));
    if (options.timeLimitMs > 0)
      options.timeLimitMs =
          std::max<int64_t>(1, round.leftMs() / (members.size() - place));
    searchOne(*candidate, options, progress);
  }
}

void PlanSearcher::searchAll() {
  std::vector<Shaped *> open;
  for (Shaped &candidate : candidates)
    if (candidate.why.empty())
      open.push_back(&candidate);
  const double shares[] = {0.3, 0.3, 0.4};
  int64_t leastMs = 0;
  for (const Shaped *candidate : open)
    leastMs += leastMsOf(candidate->problem);
  // The promising ones first: what they find excludes others. Where time is
  // short the first that was made, which is the plan as written if that can be
  // searched, stays the first: there must be an answer.
  const bool isShort = !open.empty() && limit.exists() &&
                       double(leastMs) >= shares[0] * double(limit.leftMs());
  stable_sort(open.begin() + isShort, open.end(),
              [](const Shaped *a, const Shaped *b) {
                return a->bound.ns < b->bound.ns;
              });
  Progress progress(1);
  double sharesLeft = 1;
  for (int round = 0; round < 3 && !open.empty(); ++round) {
    const double share = open.size() == 1 ? 1 : shares[round];
    searchRound(open, share, std::min(1.0, share / sharesLeft), progress);
    sharesLeft -= share;
    if (open.size() == 1)
      return;
    stable_sort(open, [](const Shaped *a, const Shaped *b) {
      return a->objective() < b->objective();
    });
    open.resize(round == 0 ? (open.size() + 3) / 4 : 1);
  }
}

/// A module of the candidate's model, cluster, plan and schedule alone, under
/// the names of the file.
mlir::OwningOpRef<mlir::ModuleOp> PlanSearcher::moduleOf(Shaped &candidate) {
  mlir::OwningOpRef<mlir::ModuleOp> module(
      cast<mlir::ModuleOp>(file.module()->clone()));
  const StringRef planName = base.getSymName(), modelName = base.getModel();
  pipe::PlanOp plan;
  for (auto other : module->getOps<pipe::PlanOp>())
    if (other.getSymName() == candidate.plan.getSymName())
      plan = other;
  SmallVector<mlir::Operation *> others;
  for (mlir::Operation &op : *module->getBody()) {
    bool isKept =
        &op == plan || &op == plan.lookupModel() || &op == plan.lookupCluster();
    if (!isKept)
      others.push_back(&op);
  }
  // Users stand behind what they use.
  for (mlir::Operation *op : reverse(others))
    op->erase();
  plan.lookupModel().setSymName(modelName);
  plan.setModel(modelName);
  plan.setSymName(planName);
  // Costs and buffers follow from the layers.
  for (pipe::StageOp stage : plan.getStages()) {
    stage.removeCostsAttr();
    stage.removeBuffersAttr();
  }
  mlir::OpBuilder builder(plan);
  builder.setInsertionPointAfter(plan);
  auto schedule = pipe::ScheduleOp::create(
      builder, plan.getLoc(), "searched", planName, pipe::FamilyAttr(),
      pipe::SearchAttr(), pipe::FoundAttr(), pipe::Accumulate::IndexOrder);
  if (failed(pipe::foldSchedule(*candidate.found->schedule, schedule)))
    return {};
  return module;
}

/// The first of the best; nullptr where nothing was found.
Shaped *PlanSearcher::chooseBest() {
  auto best = std::min_element(candidates.begin(), candidates.end(),
                               [](const Shaped &a, const Shaped &b) {
                                 return a.objective() < b.objective();
                               });
  return best->objective() == noObjective ? nullptr : &*best;
}

/// By how much the plan that comes nearest misses its devices, and what would
/// do.
std::string PlanSearcher::nearest() const {
  std::string said;
  double least = std::numeric_limits<double>::infinity();
  for (const Shaped &candidate : candidates) {
    if (!candidate.plan)
      continue;
    const std::vector<int64_t> one = leastActivationBytes(candidate.problem);
    double most = 0;
    std::string where;
    for (auto [rank, memory] : enumerate(candidate.problem.devices)) {
      const int64_t need = memory.stateBytes + one[rank];
      const double part = double(need) / double(memory.deviceBytes);
      if (part < most)
        continue;
      most = part;
      where = "rank " + std::to_string(rank) + " needs " +
              std::to_string(need) + " bytes and its device has " +
              std::to_string(memory.deviceBytes);
    }
    if (most >= least)
      continue;
    least = most;
    said = "; " + candidate.shape.text() + " is the nearest: " +
           (most > 1 ? "with one micro-batch at a time and no messages " + where
                     : candidate.why);
  }
  said += "; devices of more memory, smaller micro-batches (--microbatches "
          "with larger numbers) ";
  return said + (request.shapes.placements == "auto"
                     ? "or fewer layers on that rank may do"
                     : "or other placements (--placement auto) may do");
}

void PlanSearcher::printTable(const Shaped *best, raw_ostream &os) {
  // Of those that have a plan.
  const bool isSpan = any_of(candidates, [](const Shaped &candidate) {
    return candidate.problem.objective == Objective::Span;
  });
  Table table;
  table.add({"plan", isSpan ? "span" : "makespan", "at least", ""});
  const auto without = planless(candidates);
  for (const Shaped &candidate : candidates) {
    std::vector<std::string> row = {candidate.shape.text()};
    if (!candidate.plan) {
      auto said = without.find(&candidate);
      if (said == without.end())
        continue;
      row = {said->second, candidate.why};
    } else {
      row.push_back(candidate.objective() == noObjective
                        ? "-"
                        : formatNs(candidate.objective()));
      row.push_back(formatNs(candidate.knownBound()));
      row.push_back(&candidate == best ? "chosen" : candidate.why);
    }
    table.add(std::move(row));
  }
  os << base.getSymName() << ": an iteration of "
     << countOf(base.lookupModel().getLayers().size(), "layer") << " on "
     << countOf(base.lookupCluster().getDevices().size(), "rank") << "\n";
  table.print(os);
}

/// No order of any plan in the table is faster.
int64_t PlanSearcher::boundOfAll() const {
  int64_t least = noObjective;
  for (const Shaped &candidate : candidates)
    if (candidate.plan && !findShortfall(candidate.problem))
      least = std::min(least, candidate.knownBound());
  return least;
}

int PlanSearcher::write(Shaped &best) {
  std::string problemOutput = request.problemOutput;
  if (problemOutput.empty() && !isModule() && request.output != "-" &&
      !isSpecialFile(request.output)) {
    SmallString<128> beside(request.output);
    sys::path::replace_extension(beside, ".problem.jsonl");
    problemOutput = beside.str().str();
  }
  Error error = writeFile(request.output, [&](raw_ostream &os) -> Error {
    if (isModule()) {
      moduleOf(best)->print(os);
      return Error::success();
    }
    json::SearchRecord record = recordOf(*best.found);
    json::writeSchedule(os, best.problem, *best.found->schedule,
                        best.found->simulation, best.found->origin, &record);
    os << "\n";
    return Error::success();
  });
  if (!error && !problemOutput.empty())
    error = writeFile(problemOutput, [&](raw_ostream &os) -> Error {
      json::writeProblem(os, best.problem);
      os << "\n";
      return Error::success();
    });
  if (error)
    return reportError(toString(std::move(error)));
  const int64_t reached = best.objective(), bound = boundOfAll();
  if (request.output != "-" && !isSpecialFile(request.output))
    outs() << "wrote " << request.output
           << (problemOutput.empty() ? "" : " and " + problemOutput) << ": "
           << best.shape.text() << ", " << objectiveName(best.problem) << " "
           << formatNs(reached) << ", "
           << gapText(reached <= bound, reached, bound)
           << (candidates.size() == 1 ? ""
               : any_of(
                     candidates,
                     [](const Shaped &c) { return !c.plan && c.why == noTime; })
                   ? " among the plans above that had time"
                   : " among the plans above")
           << "\n";
  return Success;
}

int PlanSearcher::run() {
  if (int code = readBasePlan(file, request.path, base))
    return code;
  std::vector<pipe::PlanShape> shapes;
  if (int code = chooseShapes(request.shapes, base, shapes))
    return code;
  candidates = makeCandidates(base, shapes, limit);
  Interrupt interrupt;
  searchAll();
  Shaped *best = chooseBest();
  // The table leaves standard output to a result that goes there.
  printTable(best, request.output == "-" ? errs() : outs());
  if (!best && Interrupt::happened())
    return reportError(base.getSymName() +
                       ": interrupted before a plan with a schedule was found");
  const bool isCut = any_of(
      candidates, [](const Shaped &c) { return StringRef(c.why) == noTime; });
  if (!best && isCut)
    return reportError(base.getSymName() +
                       ": time ended before a plan with a schedule was found; "
                       "raise --time-limit-ms");
  // Then memory has no part in it.
  if (none_of(candidates, [](const Shaped &c) { return bool(c.plan); }))
    return reportError(base.getSymName() +
                       ": no plan has one of these shapes; the table says why");
  if (!best) {
    reportError(base.getSymName() +
                ": none of these plans has a schedule that fits" + nearest());
    return Infeasible;
  }
  if (int code = write(*best))
    return code;
  return Interrupt::happened() ? Interrupted : Success;
}

int searchPlans(const PlanSearchRequest &request) {
  return PlanSearcher(request).run();
}

} // namespace rondo::driver
