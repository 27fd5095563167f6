//===- schedule_search.cpp - Searches schedules during a run --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/adaptive/program_values.h"

#include "lowering/Communication.h"
#include "lowering/MemoryPlan.h"
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

static_assert(numBuffers == numBufferKinds);

static int64_t &bytesOf(ReplicaBuffers &buffers, BufferKind kind) {
  return buffers[static_cast<size_t>(kind)];
}

/// Null: the replica has no such buffer.
static const Pool *poolOf(const Program &program, int32_t replica,
                          BufferKind kind) {
  const Place &place = program.place(replica, kind);
  return place.pool < 0 ? nullptr : &program.pools[place.pool];
}

static int64_t endOf(const Pool &pool) {
  return pool.offset + pool.slotBytes * pool.slots;
}

static PlanFigures figuresOf(const SearchRequest &request) {
  const Executable &exe = request.executable;
  const ProgramDesc &like = request.like;
  const Program &own = request.values.program;
  PlanFigures plan;
  plan.buffers.resize(exe.numReplicas);
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    std::copy_n(like.shares[h].bytes, numBufferKinds, plan.buffers[h].begin());
    // As large as the programs of all sizes of micro-batches need it.
    if (const Pool *control = poolOf(own, h, BufferKind::Control))
      bytesOf(plan.buffers[h], BufferKind::Control) = control->slotBytes;
  }
  plan.collectives = own.collectives;
  plan.hasNorm = computesNorm(like);
  plan.resident = residentOf(like);
  plan.devices.assign(exe.arenaBytes, exe.arenaBytes + exe.numRanks);
  for (int32_t r = 0; r < own.order.numRanks(); ++r)
    for (Action action : own.order.rank(r))
      plan.declaresWeights |= action.kind() == ActionKind::Step;
  for (int32_t pool : own.staging)
    plan.stagingBytes.push_back(pool < 0 ? 0 : own.pools[pool].slotBytes);
  return plan;
}

/// Room that programs with other micro-batches need for their data.
static KeptBytes keptBytes(const SearchRequest &request,
                           const PlanFigures &plan) {
  const Program &own = request.values.program;
  KeptBytes kept;
  kept.staging = plan.stagingBytes;
  kept.data.assign(request.executable.numReplicas, 0);
  for (int32_t h = 0; h < request.executable.numReplicas; ++h) {
    const Pool *data = poolOf(own, h, BufferKind::Data);
    if (!data)
      continue;
    int64_t next = endOf(*data);
    bool isLast = true;
    for (const Pool &other : own.pools) {
      if (other.isOnHost || other.rank != data->rank ||
          other.offset <= data->offset)
        continue;
      next = isLast ? other.offset : std::min(next, other.offset);
      isLast = false;
    }
    kept.data[h] = next - data->offset;
  }
  return kept;
}

/// The memory of activations: what the state leaves of the arenas.
static void addMemory(const SearchRequest &request, PlanFigures &plan,
                      Problem &problem) {
  for (int32_t h = 0; h < problem.numReplicas(); ++h) {
    ReplicaBuffers &buffers = plan.buffers[h];
    const int64_t forInput = bytesOf(buffers, BufferKind::SavedForInputGrad),
                  forWeight = bytesOf(buffers, BufferKind::SavedForWeightGrad),
                  awayForInput =
                      bytesOf(buffers, BufferKind::OffloadedForInputGrad),
                  awayForWeight =
                      bytesOf(buffers, BufferKind::OffloadedForWeightGrad),
                  checkpoints = bytesOf(buffers, BufferKind::Checkpoints),
                  kept = bytesOf(buffers, BufferKind::KeptForWeightGrad),
                  againForInput =
                      bytesOf(buffers, BufferKind::RecomputedForInputGrad),
                  againForWeight =
                      bytesOf(buffers, BufferKind::RecomputedForWeightGrad);
    auto set = [&](ActionKind kind, int64_t takes, int64_t frees) {
      problem.cost(h, kind).acquireBytes = takes;
      problem.cost(h, kind).releaseBytes = frees;
    };
    const bool areCheckpoints =
        problem.hostMemory.mayCopy(h) &&
        problem.hostMemory.loads[h] == LoadBefore::Recompute;
    const int64_t awayForAgain = areCheckpoints ? awayForInput : 0;
    set(ActionKind::Forward,
        forInput + forWeight + awayForInput + awayForWeight + checkpoints, 0);
    if (problem.recomputes(h))
      set(ActionKind::Recompute, againForInput + againForWeight,
          checkpoints + awayForAgain);
    set(ActionKind::InputGrad, kept,
        forInput + awayForInput - awayForAgain + againForInput);
    set(ActionKind::WeightGrad, 0,
        forWeight + awayForWeight + againForWeight + kept);
    // Measured as its two halves.
    Cost &backward = problem.cost(h, ActionKind::Backward);
    backward.ns = problem.cost(h, ActionKind::InputGrad).ns +
                  problem.cost(h, ActionKind::WeightGrad).ns;
    set(ActionKind::Backward, kept,
        forInput + awayForInput - awayForAgain + againForInput + forWeight +
            awayForWeight + againForWeight + kept);
    if (problem.hostMemory.mayCopy(h)) {
      set(ActionKind::Save, 0, awayForInput + awayForWeight);
      set(ActionKind::Load, awayForInput + awayForWeight, 0);
    }
    if (!problem.replicas[h].isSharded())
      continue;
    const int64_t gathered = bytesOf(buffers, BufferKind::GatheredWeights);
    set(ActionKind::Unshard, gathered, 0);
    set(ActionKind::Reshard, 0, gathered);
    set(ActionKind::ReduceGrad, 0,
        bytesOf(buffers, BufferKind::UnreducedGradients));
  }
  const Program &own = request.values.program;
  std::vector<int64_t> stateEnd(problem.numRanks(), 0);
  auto count = [&](const Pool &pool) {
    stateEnd[pool.rank] = std::max(stateEnd[pool.rank], endOf(pool));
  };
  for (int32_t h = 0; h < problem.numReplicas(); ++h)
    for (const BufferTraits &traits : bufferTable)
      if (const Pool *pool = poolOf(own, h, traits.kind);
          pool && traits.isState())
        count(*pool);
  for (int32_t pool : own.staging)
    if (pool >= 0)
      count(own.pools[pool]);
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    problem.memoryCaps[r] =
        std::max<int64_t>(0, request.executable.arenaBytes[r] - stateEnd[r]);
}

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

/// The computation of a program with its copies, gathers and reductions,
/// without messages and steps.
static Schedule tasksOf(const Program &program) {
  Schedule tasks;
  for (int32_t r = 0; r < program.order.numRanks(); ++r) {
    for (Action action : program.order.rank(r))
      if (action.isTask() || action.traits().isCopy() ||
          action.traits().movesState())
        tasks.append(action);
    tasks.endRank();
  }
  return tasks;
}

namespace {

/// One search for a faster order.
class Finder {
public:
  Finder(const SearchRequest &request)
      : request(request), plan(figuresOf(request)),
        problem(request.values.problem) {
    addMemory(request, plan, problem);
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
  std::optional<Fault> place(const Problem &links,
                             LoweredProgram &lowered) const;

  const SearchRequest &request;
  PlanFigures plan;
  /// With links as measured, and as the compiler knew them.
  Problem problem, stated;
};

} // namespace

/// Gives a program its messages, at the places that are best for some links,
/// and its memory.
std::optional<Fault> Finder::place(const Problem &links,
                                   LoweredProgram &lowered) const {
  lowered.program = insertCommunication(
      links, lowered.tasks, simulate(links, lowered.tasks, /*keepTimes=*/true),
      plan.needsOf(rondo::ProgramKind::Pipeline));
  lowered.program.resident = plan.resident;
  if (auto fault = planMemory({links, links.replicas, links.numRanks(),
                               plan.buffers, keptBytes(request, plan),
                               /*byMicrobatch=*/nullptr, &plan.devices},
                              lowered.program))
    return fault;
  if (std::optional<Fault> fault = checkLowered(lowered, plan))
    return fault;
  return findMoved(lowered.program,
                   {rondo::ProgramKind::Pipeline, problem, Schedule(),
                    request.values.program, ProgramSimulation()});
}

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
          if (place(links, lowered))
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
  std::optional<Fault> wrong = place(problem, lowered);
  if (wrong && alsoPlacedFor)
    wrong = place(*alsoPlacedFor, lowered);
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
