//===- MemoryPlan.cpp - A compile-time slot for every buffer --------------===//

#include "lowering/MemoryPlan.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>

using namespace rondo;

namespace {

constexpr int64_t maxArenaBytes = int64_t(1) << 50;

int64_t aligned(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

/// One transient buffer: who owns it and for which actions of its rank.
struct Life {
  int32_t stage = 0;
  BufferKind kind = BufferKind::Input;
  int64_t microbatch = 0;
  int64_t bytes = 0;
  /// That its pool is on.
  int32_t rank = 0;
  /// Taken before the action at `first` begins, free again for any action
  /// behind `last`.
  int64_t first = 0, last = 0;
};

class Planner {
public:
  Planner(const Problem &problem, const Homes &homes, int32_t numRanks,
          const std::vector<StageBuffers> &buffers, Program &program)
      : problem(problem), homes(homes), buffers(buffers), program(program),
        arenaEnd(numRanks, 0) {}

  std::optional<std::string> run();

private:
  int64_t bytesOf(int32_t stage, BufferKind kind) const {
    return aligned(buffers[stage][static_cast<int>(kind)]);
  }
  int32_t slotsOf(SlotPer what) const {
    return what == SlotPer::Microbatch ? problem.microbatches
           : what == SlotPer::Version  ? versionsOfWeights
                                       : 1;
  }
  int32_t addPool(int32_t rank, int64_t slotBytes, int32_t slots);
  std::optional<std::string> placeState();
  void collectLives(int32_t rank);
  void addLife(int32_t stage, BufferKind kind, int64_t index, int64_t first,
               int64_t last);
  std::optional<std::string> assignSlots();
  int64_t sendReleased(int32_t rank, int64_t sendPosition);
  static void shortenToPeriod(std::vector<int32_t> &slots);

  const Problem &problem;
  /// Where state lies.
  const Homes &homes;
  const std::vector<StageBuffers> &buffers;
  Program &program;
  std::vector<int64_t> arenaEnd;
  ProgramSimulation simulation;
  std::vector<Life> lives;
  /// A rank whose arena would be too large, if there is one.
  int32_t overfullRank = -1;
};

int32_t Planner::addPool(int32_t rank, int64_t slotBytes, int32_t slots) {
  Pool pool;
  pool.rank = rank;
  pool.offset = arenaEnd[rank];
  pool.slotBytes = slotBytes;
  pool.slots = slots;
  if (slots > 0 && slotBytes > (maxArenaBytes - arenaEnd[rank]) / slots)
    overfullRank = rank;
  else
    arenaEnd[rank] += slotBytes * slots;
  program.pools.push_back(pool);
  return static_cast<int32_t>(program.pools.size()) - 1;
}

std::string tooManySlots(int32_t rank, int32_t slots, int64_t bytes) {
  return "rank " + std::to_string(rank) + " would need " +
         std::to_string(slots) + " buffers of " + std::to_string(bytes) +
         " bytes at once; a pool has " + std::to_string(maxSlots) +
         " slots at most";
}

std::optional<std::string> Planner::placeState() {
  for (int32_t h = 0; h < homes.size(); ++h)
    for (const BufferTraits &traits : bufferTable) {
      if (!traits.isState() || traits.owner != Owner::Stage)
        continue;
      const BufferKind kind = traits.kind;
      int64_t bytes = bytesOf(homes[h].stage, kind);
      if (bytes == 0)
        continue;
      int32_t slots = slotsOf(traits.slotPer);
      if (slots > maxSlots)
        return tooManySlots(homes[h].rank, slots, bytes);
      Placement &placement = program.placement(h, kind);
      placement.pool = addPool(homes[h].rank, bytes, slots);
      placement.slotOf.resize(slots);
      for (int32_t i = 0; i < slots; ++i)
        placement.slotOf[i] = i;
    }
  for (int32_t rank = 0; rank < static_cast<int32_t>(arenaEnd.size()); ++rank) {
    auto isHere = [&](const Home &home) {
      return home.rank == rank &&
             bytesOf(home.stage, BufferKind::Workspace) != 0;
    };
    int64_t bytes = 0;
    for (const Home &home : homes)
      if (isHere(home))
        bytes = std::max(bytes, bytesOf(home.stage, BufferKind::Workspace));
    if (bytes == 0)
      continue;
    int32_t pool = addPool(rank, bytes, 1);
    for (int32_t h = 0; h < homes.size(); ++h)
      if (isHere(homes[h]))
        program.placement(h, BufferKind::Workspace) = {pool, {0}};
  }
  return std::nullopt;
}

void Planner::addLife(int32_t stage, BufferKind kind, int64_t index,
                      int64_t first, int64_t last) {
  Life life;
  life.stage = stage;
  life.kind = kind;
  life.microbatch = index;
  life.bytes = bytesOf(stage, kind);
  life.rank = homes[homes.numberOf(stage)].rank;
  life.first = first;
  life.last = last;
  if (life.bytes != 0)
    lives.push_back(life);
}

/// The last action behind a send for which its buffer is still in use: the last
/// one that the simulation does not start after the send's end. One that starts
/// at the same instant may be what lets the send end, on another rank; waits
/// for what is over strictly earlier can close no circle.
int64_t Planner::sendReleased(int32_t rank, int64_t sendPosition) {
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

/// Finds the lives of all buffers whose actions stand on one executing rank.
void Planner::collectLives(int32_t rank) {
  ActionRange actions = program.order.rank(rank);
  int32_t stages = problem.numStages();
  // Positions by (stage, micro-batch), -1 where absent; only this rank's
  // stages.
  std::vector<int32_t> local(stages, -1);
  int32_t numLocal = 0;
  for (int32_t s = 0; s < stages; ++s)
    if (problem.homeOf(s).rank == rank)
      local[s] = numLocal++;
  auto table = [&] {
    return std::vector<int64_t>(int64_t(numLocal) * problem.microbatches, -1);
  };
  std::vector<int64_t> forward = table(), inputGrad = table(),
                       weightGrad = table();
  std::vector<int64_t> sentOutput = table(), sentGrad = table();
  std::vector<int64_t> receivedInput = table(), receivedGrad = table();
  auto at = [&](int32_t stage, int64_t i) {
    return int64_t(local[stage]) * problem.microbatches + i;
  };
  for (int64_t k = 0; k < actions.size(); ++k) {
    Action a = actions[k];
    switch (a.kind()) {
    case ActionKind::Forward:
      forward[at(a.stage, a.index)] = k;
      break;
    case ActionKind::InputGrad:
      inputGrad[at(a.stage, a.index)] = k;
      break;
    case ActionKind::WeightGrad:
      weightGrad[at(a.stage, a.index)] = k;
      break;
    case ActionKind::Backward:
      inputGrad[at(a.stage, a.index)] = k;
      weightGrad[at(a.stage, a.index)] = k;
      break;
    case ActionKind::Send: {
      const Edge &edge = problem.edges[a.stage];
      (edge.producer == ActionKind::Forward
           ? sentOutput
           : sentGrad)[at(edge.from, a.index)] = k;
      break;
    }
    case ActionKind::Recv: {
      const Edge &edge = problem.edges[a.stage];
      (edge.producer == ActionKind::Forward
           ? receivedInput
           : receivedGrad)[at(edge.to, a.index)] = k;
      break;
    }
    default:
      break;
    }
  }

  for (int32_t s = 0; s < stages; ++s) {
    if (local[s] < 0)
      continue;
    bool nextIsLocal = s + 1 < stages && local[s + 1] >= 0;
    bool previousIsLocal = s > 0 && local[s - 1] >= 0;
    for (int64_t i = 0; i < problem.microbatches; ++i) {
      int64_t f = forward[at(s, i)], b = inputGrad[at(s, i)],
              w = weightGrad[at(s, i)];
      if (f >= 0) {
        addLife(s, BufferKind::SavedForInputGrad, i, f, b >= 0 ? b : f);
        addLife(s, BufferKind::SavedForWeightGrad, i, f, w >= 0 ? w : f);
        if (receivedInput[at(s, i)] >= 0)
          addLife(s, BufferKind::Input, i, receivedInput[at(s, i)], f);
        if (nextIsLocal)
          addLife(s, BufferKind::Output, i, f, forward[at(s + 1, i)]);
        else if (sentOutput[at(s, i)] >= 0)
          addLife(s, BufferKind::Output, i, f,
                  sendReleased(rank, sentOutput[at(s, i)]));
      }
      if (b >= 0) {
        if (receivedGrad[at(s, i)] >= 0)
          addLife(s, BufferKind::OutputGrad, i, receivedGrad[at(s, i)], b);
        if (previousIsLocal)
          addLife(s, BufferKind::InputGrad, i, b, inputGrad[at(s - 1, i)]);
        else if (sentGrad[at(s, i)] >= 0)
          addLife(s, BufferKind::InputGrad, i, b,
                  sendReleased(rank, sentGrad[at(s, i)]));
      }
    }
  }
}

/// Gives the lives of one executing rank their slots, first in first out.
std::optional<std::string> Planner::assignSlots() {
  std::stable_sort(
      lives.begin(), lives.end(),
      [](const Life &a, const Life &b) { return a.first < b.first; });
  // By (rank, bytes): slots free again, by the position behind which they are.
  struct State {
    std::deque<int32_t> freeSlots;
    std::multimap<int64_t, int32_t> busy;
    int32_t slots = 0;
  };
  std::map<std::pair<int32_t, int64_t>, State> states;
  std::map<std::pair<int32_t, int64_t>, std::vector<std::pair<int32_t, int>>>
      users;
  for (const Life &life : lives) {
    std::pair<int32_t, int64_t> size{life.rank, life.bytes};
    State &state = states[size];
    while (!state.busy.empty() && state.busy.begin()->first < life.first) {
      state.freeSlots.push_back(state.busy.begin()->second);
      state.busy.erase(state.busy.begin());
    }
    int32_t slot;
    if (state.freeSlots.empty()) {
      slot = state.slots++;
    } else {
      slot = state.freeSlots.front();
      state.freeSlots.pop_front();
    }
    state.busy.emplace(life.last, slot);
    Placement &placement =
        program.placement(homes.numberOf(life.stage), life.kind);
    if (placement.slotOf.empty()) {
      placement.slotOf.assign(problem.microbatches, -1);
      users[size].push_back({life.stage, static_cast<int>(life.kind)});
    }
    placement.slotOf[life.microbatch] = slot;
  }
  for (auto &[size, state] : states) {
    if (state.slots > maxSlots)
      return tooManySlots(size.first, state.slots, size.second);
    int32_t pool = addPool(size.first, size.second, state.slots);
    for (auto [stage, kind] : users[size])
      program.placement(homes.numberOf(stage), static_cast<BufferKind>(kind))
          .pool = pool;
  }
  return std::nullopt;
}

/// Cuts a table to the shortest period that writes it.
void Planner::shortenToPeriod(std::vector<int32_t> &slots) {
  // Failure function of Knuth, Morris and Pratt: the longest proper border.
  size_t n = slots.size();
  std::vector<size_t> border(n + 1, 0);
  for (size_t i = 1, k = 0; i < n; ++i) {
    while (k > 0 && slots[i] != slots[k])
      k = border[k];
    if (slots[i] == slots[k])
      ++k;
    border[i + 1] = k;
  }
  slots.resize(n - border[n]);
}

std::optional<std::string> Planner::run() {
  // Lives are looked up by what actions name.
  if (auto violation = checkChannels(problem, program))
    return violation->message;
  program.pools.clear();
  program.placements.assign(static_cast<size_t>(homes.size()) * numBufferKinds,
                            Placement());
  for (int32_t s = 0; s < problem.numStages(); ++s)
    for (int k = 0; k < numBufferKinds; ++k)
      if (buffers[s][k] < 0 || buffers[s][k] > maxArenaBytes)
        return "stage " + std::to_string(s) + " asks for " +
               std::to_string(buffers[s][k]) + " bytes of " +
               bufferTable[k].keyword + "; an arena has 0 to " +
               std::to_string(maxArenaBytes);
  if (std::optional<std::string> wrong = placeState())
    return wrong;

  // Without placements no action waits for a slot, so the send ends here are
  // those of the undisturbed program.
  Program bare;
  bare.order = program.order;
  bare.collectives = program.collectives;
  simulation = simulateProgram(problem, bare);

  for (int32_t r = 0; r < program.order.numRanks(); ++r) {
    lives.clear();
    collectLives(r);
    if (std::optional<std::string> wrong = assignSlots())
      return wrong;
  }
  if (overfullRank >= 0)
    return "rank " + std::to_string(overfullRank) +
           " would need an arena of more than " +
           std::to_string(maxArenaBytes) + " bytes";
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    // A consumer on the producer's rank reads the producer's buffer.
    if (s > 0 && problem.homeOf(s).rank == problem.homeOf(s - 1).rank) {
      const int32_t here = homes.numberOf(s), before = homes.numberOf(s - 1);
      program.placement(here, BufferKind::Input) =
          program.placement(before, BufferKind::Output);
      program.placement(before, BufferKind::OutputGrad) =
          program.placement(here, BufferKind::InputGrad);
    }
  }
  for (Placement &placement : program.placements)
    shortenToPeriod(placement.slotOf);
  program.arenaBytes = arenaEnd;
  return std::nullopt;
}

} // namespace

std::optional<std::string>
rondo::planMemory(const Problem &executing, const Homes &homes,
                  int32_t numRanks, const std::vector<StageBuffers> &buffers,
                  Program &program) {
  return Planner(executing, homes, numRanks, buffers, program).run();
}
