//===- Shortfall.cpp - Memory that every schedule needs -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Shortfall.h"

#include "schedule/bounds/FlatProblem.h"

#include <algorithm>

using namespace rondo;

static std::string text(int64_t n) { return std::to_string(n); }

static std::string countOfBytes(int64_t bytes) {
  return text(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::vector<int64_t> rondo::leastActivationBytes(const Problem &problem) {
  std::vector<int64_t> least(problem.numRanks());
  for (int32_t stage = 0; stage < problem.numStages(); ++stage)
    least[problem.homeOf(stage).rank] +=
        problem.cost(stage, ActionKind::Forward).acquireBytes;
  return least;
}

/// What every schedule holds at once, by rank.
static std::vector<int64_t> neededBytes(const Problem &problem) {
  if (isSingleEnded(problem))
    return leastActivationBytes(problem);
  std::vector<int64_t> needed(problem.numRanks());
  for (int32_t stage = 0; stage < problem.numStages(); ++stage) {
    int64_t &bytes = needed[problem.homeOf(stage).rank];
    bytes =
        std::max(bytes, problem.cost(stage, ActionKind::Forward).acquireBytes);
  }
  return needed;
}

namespace {

/// What a rank needs, and what it has.
struct Need {
  int64_t activations = 0, state = 0, has = 0;

  int64_t missing() const { return activations + state - has; }
};

} // namespace

static Need needOf(const Fault &shortfall) {
  return {std::get<int64_t>(shortfall.parts[0]),
          std::get<int64_t>(shortfall.parts[1]), shortfall.allowed};
}

std::string rondo::briefShortfall(const Fault &shortfall) {
  const Need need = needOf(shortfall);
  const std::string who = "no schedule fits: rank " + text(shortfall.rank);
  if (need.state == 0)
    return who + " may hold " + countOfBytes(need.has) +
           ", but one micro-batch of its stages takes " +
           countOfBytes(need.activations) + ", " + text(need.missing()) +
           " more";
  return who + " needs at least " +
         countOfBytes(need.activations + need.state) + ", " +
         text(need.missing()) + " more than its device's " + text(need.has);
}

static std::string whatItIsFor(const Need &need) {
  if (need.state == 0)
    return "";
  return ": " + text(need.state) +
         " for weights, gradients, optimizer state, data and workspace, and " +
         text(need.activations) + " for the activations of one micro-batch";
}

/// What helps this rank. Activations are taken to be proportional to the size
/// of a micro-batch; which sizes divide the batch is not known here.
static std::string whatHelps(const Need &need) {
  std::string advice = "; what helps is a memory of at least " +
                       countOfBytes(need.activations + need.state) +
                       ", messages not counted, ";
  const int64_t room = need.has - need.state;
  if (room <= 0)
    return advice + "or fewer layers on this rank";
  const int64_t parts = (need.activations + room - 1) / room;
  return advice + "or micro-batches of at most 1/" + text(parts) +
         " of the size, or fewer layers on this rank";
}

std::string rondo::describeShortfall(const Fault &shortfall) {
  const Need need = needOf(shortfall);
  std::string said =
      briefShortfall(shortfall) + whatItIsFor(need) + whatHelps(need);
  const int64_t others = std::get<int64_t>(shortfall.parts[2]);
  if (others > 0)
    said += "; " + text(others) + " more " +
            (others == 1 ? "rank falls" : "ranks fall") + " short as well";
  return said;
}

std::optional<Fault> rondo::findShortfall(const Problem &problem) {
  const std::vector<int64_t> least = neededBytes(problem);
  std::optional<Fault> first;
  int64_t others = 0;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    Need need{least[rank], 0, problem.memoryCaps[rank]};
    if (need.has == noMemoryCap)
      continue;
    if (!problem.devices.empty()) {
      need.state = problem.devices[rank].stateBytes;
      need.has = problem.devices[rank].deviceBytes;
    }
    if (need.missing() <= 0)
      continue;
    if (first) {
      ++others;
      continue;
    }
    first = makeFault(FaultKind::Shortfall,
                      {need.activations, need.state, int64_t(0)});
    first->rank = rank;
    first->allowed = need.has;
  }
  if (first)
    first->parts[2] = others;
  return first;
}
