//===- MemoryPlan.cpp - A compile-time slot for every buffer --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/MemoryPlan.h"

#include "lowering/Positions.h"
#include "lowering/SlotAssignment.h"
#include "lowering/SlotTables.h"
#include "schedule/BufferNumbers.h"

#include <algorithm>
#include <utility>

using namespace rondo;

namespace {

int64_t aligned(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

class Planner {
public:
  Planner(const Problem &problem, const Homes &homes, int32_t numRanks,
          const std::vector<HomeBuffers> &buffers, const KeptBytes &kept,
          Program &program, const ForEach &forEach)
      : problem(problem), homes(homes), buffers(buffers), kept(kept),
        program(program), forEach(forEach), edges(problem), numbers(problem),
        arenas(numRanks, program) {}

  std::optional<Fault> run();

private:
  int64_t bytesOf(int32_t home, BufferKind kind) const {
    return aligned(buffers[home][static_cast<int>(kind)]);
  }
  int32_t slotsOf(int32_t home, SlotPer what) const {
    return what == SlotPer::Microbatch
               ? static_cast<int32_t>(
                     homes[home].numTaken(problem.microbatchesEach()))
           : what == SlotPer::Version && !kept.weightSlots.empty()
               ? kept.weightSlots[home]
               : 1;
  }
  std::optional<Fault> placeState();
  void measure();
  using Lives = std::vector<Life>;
  void collectLives(int32_t rank, Lives &lives) const;
  void collectMovedLives(int32_t rank, Lives &lives) const;
  void addLife(Lives &lives, int32_t buffer, int64_t index, int64_t first,
               int64_t last) const;
  int64_t sendReleased(int32_t rank, int64_t sendPosition) const;
  std::optional<Fault> placeTransient();

  const Problem &problem;
  /// Where state lies.
  const Homes &homes;
  const std::vector<HomeBuffers> &buffers;
  const KeptBytes &kept;
  Program &program;
  const ForEach &forEach;
  const EdgeTable edges;
  const BufferNumbers numbers;
  Arenas arenas;
  ProgramSimulation simulation;
  /// By buffer.
  std::vector<SlotSize> sizes;
};

std::optional<Fault> Planner::placeState() {
  for (int32_t h = 0; h < homes.size(); ++h)
    for (const BufferTraits &traits : bufferTable) {
      if (!traits.isState() || traits.owner != Owner::Stage)
        continue;
      const BufferKind kind = traits.kind;
      int64_t bytes = bytesOf(h, kind);
      if (bytes == 0)
        continue;
      int32_t slots = slotsOf(h, traits.slotPer);
      if (slots > maxSlots)
        return tooManySlots(homes[h].rank, slots, bytes);
      Place &place = program.place(h, kind);
      const int64_t begin = arenas.end(homes[h].rank);
      place.pool = arenas.addPool(homes[h].rank, bytes, slots);
      if (kind == BufferKind::Data && !kept.data.empty())
        arenas.extend(homes[h].rank, begin + kept.data[h]);
      const bool isByMicrobatch = traits.slotPer == SlotPer::Microbatch;
      // Data are written in front of each task that reads them, and so they may
      // lie where those of the iteration before did.
      place.slotOf.resize(isByMicrobatch ? problem.microbatchesEach() : slots);
      for (int32_t i = 0; i < static_cast<int32_t>(place.slotOf.size()); ++i)
        place.slotOf[i] =
            isByMicrobatch ? std::min(i / homes[h].turns, slots - 1) : i;
    }
  program.staging.assign(kept.staging.size(), -1);
  for (int32_t rank = 0; rank < static_cast<int32_t>(kept.staging.size());
       ++rank)
    if (kept.staging[rank] > 0)
      program.staging[rank] =
          arenas.addPool(rank, aligned(kept.staging[rank]), 1);
  for (int32_t rank = 0; rank < arenas.count(); ++rank) {
    auto workspaceOf = [&](int32_t home) {
      return homes[home].rank == rank ? bytesOf(home, BufferKind::Workspace)
                                      : 0;
    };
    int64_t bytes = 0;
    for (int32_t h = 0; h < homes.size(); ++h)
      bytes = std::max(bytes, workspaceOf(h));
    if (bytes == 0)
      continue;
    const int32_t pool = arenas.addPool(rank, bytes, 1);
    for (int32_t h = 0; h < homes.size(); ++h)
      if (workspaceOf(h) != 0)
        program.place(h, BufferKind::Workspace) = {pool, {0}};
  }
  return std::nullopt;
}

void Planner::measure() {
  for (int32_t number = 0; number < numbers.count(); ++number) {
    const BufferNumbers::Buffer &buffer = numbers[number];
    sizes.push_back({homes[buffer.home].rank,
                     aligned(rondo::bytesOf(problem, buffer, buffers)),
                     traitsOf(buffer.kind).slotPer == SlotPer::Unit});
  }
}

void Planner::addLife(Lives &lives, int32_t buffer, int64_t index,
                      int64_t first, int64_t last) const {
  if (sizes[buffer].bytes != 0)
    lives.push_back(
        {buffer, static_cast<int32_t>(index), first, std::max(first, last)});
}

/// The last action behind a send for which its buffer is still in use: the last
/// one that the simulation does not start after the send's end. One that starts
/// at the same instant may be what lets the send end, on another rank; waits
/// for what is over strictly earlier can close no circle.
int64_t Planner::sendReleased(int32_t rank, int64_t sendPosition) const {
  int64_t begin = program.order.rankBegin(rank);
  int64_t numActions = program.order.rank(rank).size();
  if (!simulation.complete)
    return numActions - 1;
  // Starts never decrease along a rank.
  auto starts = simulation.startNs.begin() + begin;
  auto later = std::upper_bound(starts + sendPosition + 1, starts + numActions,
                                simulation.endNs[begin + sendPosition]);
  return later - starts - 1;
}

/// Finds the lives of all buffers whose actions are on one executing rank.
void Planner::collectLives(int32_t rank, Lives &lives) const {
  ActionRange actions = program.order.rank(rank);
  auto table = [&](size_t names) {
    return Positions(names, problem.microbatches);
  };
  // By home, and by edge.
  Positions forward = table(problem.numHomes()),
            inputGrad = table(problem.numHomes()),
            weightGrad = table(problem.numHomes()),
            recompute = table(problem.numHomes());
  Positions sent = table(problem.edges.size()),
            received = table(problem.edges.size());
  for (int64_t k = 0; k < actions.size(); ++k) {
    Action a = actions[k];
    if (a.kind() == ActionKind::Send)
      sent.set(a.subject, a.index, k);
    else if (a.kind() == ActionKind::Recv)
      received.set(a.subject, a.index, k);
    if (!a.isTask())
      continue;
    for (auto [done, tasks] : {std::pair(forwardDone, &forward),
                               std::pair(inputGradDone, &inputGrad),
                               std::pair(weightGradDone, &weightGrad),
                               std::pair(recomputeDone, &recompute)})
      if (a.traits().makes & done)
        tasks->set(a.subject, a.index, k);
  }

  // The last task that reads a home's input.
  auto inputEnd = [&](int32_t home, int64_t i) {
    const bool isReadAgain =
        problem.recomputes(home) &&
        problem.recomputation[home] == Recomputation::FromInput;
    return std::max(forward.of(home, i),
                    isReadAgain ? recompute.of(home, i) : int64_t(-1));
  };
  // Where the last of those that read an edge's message leaves the producer's
  // buffer; -1 where nobody reads it.
  auto lastRead = [&](int32_t e, int64_t i) {
    if (int64_t send = sent.of(e, i); send >= 0)
      return sendReleased(rank, send);
    const Edge &edge = problem.edges[e];
    if (problem.rankOf(edge.to) != rank)
      return int64_t(-1);
    if (edge.producer == ActionKind::InputGrad)
      return inputGrad.of(edge.to, i);
    if (edge.producer == ActionKind::Recompute)
      return recompute.of(edge.to, i);
    return problem.isWhole(edge) ? inputEnd(edge.to, i)
                                 : forward.of(edge.to, i);
  };
  auto isCopied = [&](int32_t e) {
    const Edge &edge = problem.edges[e];
    return problem.rankOf(edge.from) == rank && !problem.isWhole(edge);
  };
  // Parts of a stage edge follow each other and share a buffer, which lives
  // from the first of them, or from the task that copies them.
  auto addReceived = [&](EdgeRange parts, int64_t i, int64_t task,
                         int64_t last) {
    for (auto e = parts.begin(); e != parts.end();) {
      const int32_t buffer = numbers.received(*e);
      int64_t first = -1;
      for (; e != parts.end() && numbers.received(*e) == buffer; ++e)
        if (const int64_t filled = isCopied(*e) ? task : received.of(*e, i);
            filled >= 0)
          first = first < 0 ? filled : std::min(first, filled);
      if (first >= 0)
        addLife(lives, buffer, i, first, last);
    }
  };
  for (int32_t h = 0; h < problem.numHomes(); ++h) {
    if (problem.rankOf(h) != rank)
      continue;
    auto own = [&](BufferKind kind) { return numbers.of(h, kind); };
    const EdgeRange inputs = edges.inputs(h, ActionKind::Forward),
                    outputs = edges.outputs(h, ActionKind::Forward),
                    gradsIn = edges.inputs(h, ActionKind::InputGrad),
                    gradsOut = edges.outputs(h, ActionKind::InputGrad),
                    inputsAgain = edges.inputs(h, ActionKind::Recompute),
                    outputsAgain = edges.outputs(h, ActionKind::Recompute);
    for (int64_t i = 0; i < problem.microbatches; ++i) {
      int64_t f = forward.of(h, i), b = inputGrad.of(h, i),
              w = weightGrad.of(h, i);
      if (f >= 0) {
        addLife(lives, own(BufferKind::SavedForInputGrad), i, f,
                b >= 0 ? b : f);
        addLife(lives, own(BufferKind::SavedForWeightGrad), i, f,
                w >= 0 ? w : f);
        addReceived(inputs, i, f, inputEnd(h, i));
        const int64_t again = recompute.of(h, i);
        addLife(lives, own(BufferKind::Checkpoints), i, f, std::max(f, again));
        if (again >= 0) {
          addLife(lives, own(BufferKind::RecomputedForInputGrad), i, again,
                  std::max(again, b));
          addLife(lives, own(BufferKind::RecomputedForWeightGrad), i, again,
                  std::max(again, w));
          addReceived(inputsAgain, i, again, again);
          int64_t read = -1;
          for (int32_t e : outputsAgain)
            read = std::max(read, lastRead(e, i));
          if (read >= 0)
            addLife(lives, own(BufferKind::RecomputedOutput), i, again, read);
        }
        int64_t last = -1;
        for (int32_t e : outputs)
          last = std::max(last, lastRead(e, i));
        // Without backwards, ranks would run ahead: one output beside the next.
        const int64_t next = i + 2 * homes[h].turns;
        if (b < 0 && w < 0 && next < problem.microbatches)
          last = std::min(last, forward.of(h, next) - 1);
        if (last >= 0)
          addLife(lives, own(BufferKind::Output), i, f, last);
      }
      if (b >= 0) {
        addReceived(gradsIn, i, b, b);
        for (auto e = gradsOut.begin(); e != gradsOut.end();) {
          const int32_t buffer = numbers.sent(*e);
          int64_t last = -1;
          for (; e != gradsOut.end() && numbers.sent(*e) == buffer; ++e)
            last = std::max(last, lastRead(*e, i));
          if (last >= 0)
            addLife(lives, buffer, i, b, last);
        }
      }
    }
  }
}

/// What is gathered, and gradients until their reduction has been awaited.
void Planner::collectMovedLives(int32_t rank, Lives &lives) const {
  if (!problem.homes.areSharded())
    return;
  const ActionRange actions = program.order.rank(rank);
  // By home: where what it has was taken, and what a reduction under way reads.
  std::vector<int64_t> gathered(problem.numHomes(), -1), made = gathered,
                                                         reduced = gathered;
  auto end = [&](std::vector<int64_t> &taken, int32_t home, BufferKind kind,
                 int64_t unit, int64_t position) {
    addLife(lives, numbers.of(home, kind), unit, taken[home], position);
    taken[home] = -1;
  };
  for (int64_t k = 0; k < actions.size(); ++k) {
    const Action action = actions[k];
    const auto home = static_cast<int32_t>(action.subject);
    const int64_t unit = action.index;
    if (action.kind() == ActionKind::Await &&
        program.collectives[home].kind == CollectiveKind::ScatterGradients) {
      for (int32_t member : program.collectives[home].homes)
        if (problem.rankOf(member) == rank && reduced[member] >= 0)
          end(reduced, member, BufferKind::UnreducedGradients, unit, k);
      continue;
    }
    if (action.traits().subject != Subject::Home ||
        !problem.homes[home].isSharded())
      continue;
    if (action.traits().makes & weightGradDone && made[home] < 0)
      made[home] = k;
    if (action.kind() == ActionKind::Unshard) {
      gathered[home] = k;
    } else if (action.kind() == ActionKind::Reshard) {
      end(gathered, home, BufferKind::GatheredWeights, unit, k);
    } else if (action.kind() == ActionKind::ReduceGrad) {
      std::swap(made[home], reduced[home]);
      if (problem.isGroupLocal(home))
        end(reduced, home, BufferKind::UnreducedGradients, unit, k);
    }
  }
}

/// Gives everything else its slots.
std::optional<Fault> Planner::placeTransient() {
  const auto numRanks = static_cast<size_t>(program.order.numRanks());
  std::vector<Result<std::vector<NeededPool>>> needed(numRanks);
  forEach(numRanks, [&](size_t r) {
    const auto rank = static_cast<int32_t>(r);
    const int64_t positions = program.order.rank(rank).size();
    Lives lives;
    collectLives(rank, lives);
    collectMovedLives(rank, lives);
    needed[r] = problem.iterations > 1
                    ? assignRings(std::move(lives), sizes, positions, program)
                    : assignSlots(std::move(lives), sizes, positions,
                                  problem.microbatches, program);
  });
  for (const auto &ofRank : needed) {
    if (auto *fault = std::get_if<Fault>(&ofRank))
      return *fault;
    for (const NeededPool &pool : std::get<std::vector<NeededPool>>(ofRank)) {
      const int32_t number =
          arenas.addPool(pool.size.rank, pool.size.bytes, pool.slots);
      for (int32_t buffer : pool.buffers)
        program.places[buffer].pool = number;
    }
  }
  return std::nullopt;
}

std::optional<Fault> Planner::run() {
  // Lives are looked up by what actions name.
  if (auto fault = checkChannels(problem, program))
    return fault;
  program.pools.clear();
  program.places.assign(numbers.count(), Place());
  for (int32_t h = 0; h < problem.numHomes(); ++h)
    for (int k = 0; k < numBufferKinds; ++k)
      if (buffers[h][k] < 0 || buffers[h][k] > maxArenaBytes) {
        Fault fault = makeFault<FaultKind::BufferSize>(problem.homes[h].stage,
                                                       bufferTable[k].keyword);
        fault.found = buffers[h][k];
        fault.allowed = maxArenaBytes;
        return fault;
      }
  if (std::optional<Fault> wrong = placeState())
    return wrong;

  // Without places no action waits for a slot, so the send ends here are
  // those of the undisturbed program.
  Program bare;
  bare.order = program.order;
  bare.collectives = program.collectives;
  simulation = simulateProgram(problem, bare);

  measure();
  if (std::optional<Fault> wrong = placeTransient())
    return wrong;
  if (arenas.overfullRank() >= 0) {
    Fault fault = makeFault<FaultKind::ArenaTooLarge>();
    fault.rank = arenas.overfullRank();
    fault.allowed = maxArenaBytes;
    return fault;
  }
  for (int32_t e = 0; e < static_cast<int32_t>(problem.edges.size()); ++e) {
    const Edge &edge = problem.edges[e];
    // A consumer on the producer's rank reads the producer's buffer.
    if (problem.rankOf(edge.from) == problem.rankOf(edge.to) &&
        problem.isWhole(edge))
      program.places[numbers.received(e)] = program.places[numbers.sent(e)];
  }
  forEach(program.places.size(), [&](size_t number) {
    std::vector<int32_t> &slots = program.places[number].slotOf;
    fillGaps(slots);
    shortenToPeriod(slots);
  });
  program.arenaBytes = arenas.ends();
  return std::nullopt;
}

} // namespace

std::optional<Fault> rondo::planMemory(const Problem &executing,
                                       const Homes &homes, int32_t numRanks,
                                       const std::vector<HomeBuffers> &buffers,
                                       Program &program, const KeptBytes &kept,
                                       const ForEach &forEach) {
  return Planner(executing, homes, numRanks, buffers, kept, program, forEach)
      .run();
}
