//===- Shortfall.cpp - Memory that every schedule needs -------------------===//

#include "schedule/Shortfall.h"

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

/// What a rank needs, and what it has.
namespace {
struct Need {
  int64_t activations = 0, state = 0, has = 0;
  int64_t missing() const { return activations + state - has; }
};
} // namespace

static std::string whatIsShort(int32_t rank, const Need &need) {
  std::string who = "no schedule fits: rank " + text(rank);
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

std::optional<Shortfall> rondo::findShortfall(const Problem &problem) {
  const std::vector<int64_t> least = leastActivationBytes(problem);
  std::optional<Shortfall> first;
  int32_t others = 0;
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
    const std::string reason = whatIsShort(rank, need);
    first =
        Shortfall{rank, reason, reason + whatItIsFor(need) + whatHelps(need)};
  }
  if (!first)
    return std::nullopt;
  if (others > 0)
    first->message += "; " + text(others) + " more " +
                      (others == 1 ? "rank falls" : "ranks fall") +
                      " short as well";
  return first;
}
