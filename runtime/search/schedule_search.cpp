//===- schedule_search.cpp - Searches schedules during a run --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search of programs that were compiled with `--adapt search`. Such a
// program names `scheduleSearch` among its extras;
// runtime/adaptive/background.cpp calls it on a thread of its own while the
// program trains.
//
//===----------------------------------------------------------------------===//

#include "runtime/search/program_plan.h"

#include "planning/Deadline.h"
#include "planning/FittingSearch.h"
#include "planning/gathers/FittingGathers.h"
#include "schedule/order/Shards.h"
#include "schedule/program/ProgramSimulator.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/Portfolio.h"

#include <algorithm>
#include <limits>

using namespace rondo;
using namespace rondo::runtime;

/// `alsoPlacedFor`: see FittingSearch.
static SearchResult searchOrder(const PlanFigures &plan, const Problem &problem,
                                const Problem *alsoPlacedFor,
                                const SearchOptions &options) {
  const RunSearch run = [](const Problem &of, const SearchOptions &how) {
    return search(of, how);
  };
  if (problem.replicas.areSharded())
    return searchPlan(plan, problem, options, run);
  if (!mayBlock(plan, problem) && !mayOverflow(plan, problem))
    return run(problem, options);
  Problem tightened = problem;
  FittingSearch fitting{plan,      problem, roughBound(problem),
                        tightened, run,     /*mayGiveUp=*/[] { return true; }};
  fitting.alsoPlacedFor = alsoPlacedFor;
  return searchFitting(fitting, options);
}

namespace {

/// One search for a faster order.
class Finder {
public:
  Finder(const SearchRequest &request)
      : request(request),
        like{request.executable, request.like, request.values},
        plan(figuresOf(like)), problem(request.values.problem) {
    for (int32_t h = 0; h < problem.numReplicas(); ++h)
      setBytes(problem, h, plan.buffers[h], &problem.costs[h * numCostColumns]);
    setCaps(like, problem);
    stated = problem;
    const Problem compiled = valuesOf(request.executable, request.like).problem;
    stated.link = compiled.link;
    stated.links = compiled.links;
  }

  SearchOutcome run();

private:
  SearchOutcome none(const Fault &fault) const {
    return {std::nullopt, describe(fault, problem)};
  }
  SearchOutcome find(const Problem *alsoPlacedFor) const;
  SearchOutcome findFamily() const;
  std::optional<Fault> check(const Schedule &tasks) const;

  const SearchRequest &request;
  const LikeProgram like;
  PlanFigures plan;
  /// With links as measured, and as the compiler knew them.
  Problem problem, stated;
};

} // namespace

/// Why an order of tasks is none of the new program, if so.
std::optional<Fault> Finder::check(const Schedule &tasks) const {
  if (std::optional<Fault> fault = checkSchedule(problem, tasks))
    return fault;
  return request.like.accumulatesInIndexOrder
             ? checkAccumulation(problem, tasks)
             : std::nullopt;
}

/// The measured links, but several times as fast.
static Problem withFasterLinks(const Problem &problem, int64_t times) {
  Problem faster = problem;
  auto speedUp = [&](Link &link) {
    link.latencyNs /= times;
    link.bytesPerUs *= times;
  };
  speedUp(faster.link);
  for (auto &[pair, link] : faster.links)
    speedUp(link);
  return faster;
}

/// The fastest program of a family with messages as the compiler would place
/// them, or for links between those and the measured ones. How much longer
/// messages then take, a search of tasks does not know.
SearchOutcome Finder::findFamily() const {
  SearchOutcome best{std::nullopt, "no family's order fits"};
  // A search of sharded stages tries them.
  if (problem.replicas.areSharded())
    return best;
  const Deadline limit(request.timeLimitMs);
  const Problem placings[] = {stated, withFasterLinks(problem, 2),
                              withFasterLinks(problem, 4),
                              withFasterLinks(problem, 16)};
  Portfolio families(
      problem, allFamilies(),
      Portfolio::byRules(problem, request.like.accumulatesInIndexOrder));
  families.forEach(
      [&](size_t) {
        return !limit.isOver() && !(request.interrupt && *request.interrupt);
      },
      [&](size_t, Judged judged) {
        if (!judged.isLegal())
          return;
        LoweredProgram lowered{rondo::ProgramKind::Pipeline, problem,
                               std::move(judged.schedule), Program(),
                               ProgramSimulation()};
        for (const Problem &links : placings) {
          if (placeLike(like, plan, links, lowered))
            continue;
          const int64_t ns =
              simulateProgram(problem, lowered.program).makespanNs;
          if (!best.found || ns < best.found->ns)
            best = {FoundSchedule{lowered.program, ns, false}, ""};
        }
      });
  return best;
}

SearchOutcome Finder::find(const Problem *alsoPlacedFor) const {
  LoweredProgram lowered{rondo::ProgramKind::Pipeline, problem, Schedule(),
                         Program(), ProgramSimulation()};
  SearchOptions options;
  options.timeLimitMs = request.timeLimitMs;
  options.inIndexOrder = request.like.accumulatesInIndexOrder;
  options.interrupt = request.interrupt;
  options.seed = request.seed;
  for (const Program *start : request.starts)
    options.starts.push_back(tasksOf(*start));
  SearchResult result = searchOrder(plan, problem, alsoPlacedFor, options);
  if (!result.schedule)
    return result.fault ? none(*result.fault)
                        : SearchOutcome{std::nullopt, "time ran out"};
  lowered.tasks = std::move(*result.schedule);
  if (problem.replicas.areSharded()) {
    // It has the reference, and so the bits, of the compiled schedule.
    std::optional<Schedule> placed =
        withGathersLike(unitsOf(problem, tasksOf(request.values.program)),
                        problem, lowered.tasks, PlanArenas(plan, problem));
    if (!placed)
      return none(makeFault<FaultKind::OtherReductions>("the order found",
                                                        request.like.name));
    lowered.tasks = std::move(*placed);
  }
  if (std::optional<Fault> fault = check(lowered.tasks))
    return none(*fault);
  std::optional<Fault> wrong = placeLike(like, plan, problem, lowered);
  if (wrong && alsoPlacedFor)
    wrong = placeLike(like, plan, *alsoPlacedFor, lowered);
  if (wrong)
    return none(*wrong);
  const ProgramSimulation simulation =
      simulateProgram(problem, lowered.program);
  // The bound is of messages as early as may be.
  const bool isOptimal = simulation.makespanNs <= result.bound.ns;
  return {FoundSchedule{std::move(lowered.program), simulation.makespanNs,
                        isOptimal},
          ""};
}

SearchOutcome Finder::run() {
  if (request.like.numRanks != request.executable.numRanks)
    return {std::nullopt, "some ranks hold no state"};
  if (std::optional<Fault> fault = problem.check())
    return none(*fault);
  SearchOutcome outcome = find(nullptr);
  auto nsOf = [](const SearchOutcome &of) {
    return of.found ? of.found->ns : std::numeric_limits<int64_t>::max();
  };
  const int64_t ownNs =
      simulateProgram(problem, request.values.program).makespanNs;
  // A known order with its messages at other places is no gain.
  constexpr double leastGain = 0.01;
  if (double(nsOf(outcome)) < (1 - leastGain) * double(ownNs))
    return outcome;
  // Over slow links messages take longer, and arenas that the compiler made for
  // others may have no room for that.
  for (SearchOutcome other : {find(&stated), findFamily()})
    if (nsOf(other) < nsOf(outcome))
      outcome = std::move(other);
  return outcome;
}

static SearchOutcome find(const SearchRequest &request) {
  return Finder(request).run();
}

const ScheduleSearch rondo::runtime::scheduleSearch = {find};
