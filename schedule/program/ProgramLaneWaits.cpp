//===- ProgramLaneWaits.cpp - Waits between the lanes of programs ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/program/ProgramLaneWaits.h"

#include "schedule/order/CopyWaits.h"
#include "schedule/program/ReleasedBuffers.h"
#include "schedule/program/Slots.h"

using namespace rondo;

namespace {

constexpr int64_t none = -1;

class Derivation {
public:
  Derivation(const Problem &problem, const Program &program)
      : problem(problem), program(program), order(program.order),
        slots(program), releasedBy(slots.count(), none),
        isCopied(size_t(problem.numReplicas()) * problem.microbatches) {
    for (Action action : order.all())
      if (action.kind() == ActionKind::Save)
        isCopied[placeOf(action)] = true;
  }

  LaneWaits run() {
    deriveFromTasks();
    waits.begin.reserve(order.numActions() + 1);
    for (int32_t r = 0; r < order.numRanks(); ++r) {
      rank = r;
      first = order.rankBegin(r);
      knownBy.assign(order.rank(r).size(), 0);
      for (int64_t i = 0; i < order.rank(r).size(); ++i)
        add(first + i);
    }
    waits.begin.push_back(static_cast<int64_t>(waits.awaited.size()));
    return std::move(waits);
  }

private:
  int64_t placeOf(Action action) const {
    return int64_t(action.subject) * problem.microbatches +
           int64_t(action.index);
  }

  /// The waits of the schedule's own actions.
  void deriveFromTasks() {
    Schedule tasks;
    numberOf.assign(order.numActions(), none);
    for (int32_t r = 0; r < order.numRanks(); ++r) {
      for (int64_t i = order.rankBegin(r); i < order.rankBegin(r + 1); ++i) {
        const Action action = order.all()[i];
        const ActionTraits &traits = action.traits();
        if (!traits.isTask() && !traits.isCopy() && !traits.movesState())
          continue;
        numberOf[i] = static_cast<int64_t>(positions.size());
        positions.push_back(i);
        tasks.append(action);
      }
      tasks.endRank();
    }
    ofTasks = deriveCopyWaits(problem, tasks);
  }

  void add(int64_t position) {
    waits.begin.push_back(static_cast<int64_t>(waits.awaited.size()));
    if (numberOf[position] == none)
      return;
    const Action action = order.all()[position];
    const ActionTraits &traits = action.traits();
    const Lane lane = problem.hostMemory.laneOf(rank, action.kind());
    const int64_t number = numberOf[position];
    for (int64_t i = ofTasks.begin[number]; i < ofTasks.begin[number + 1]; ++i)
      await(lane, positions[ofTasks.awaited[i]]);
    for (BufferKind kind : traits.takes)
      forEachSlot(action, kind, [&](int64_t &before) {
        if (before != none &&
            problem.hostMemory.laneOf(rank, order.all()[before].kind()) != lane)
          await(lane, before);
      });
    forEachReleased(problem, action, [&](BufferKind kind) {
      forEachSlot(action, kind, [&](int64_t &last) { last = position; });
    });
  }

  /// Calls `visit` with `releasedBy` of each slot of a buffer that copies read
  /// or write, if the action has such a buffer.
  template <typename Visit>
  void forEachSlot(Action action, BufferKind kind, Visit visit) {
    const bool isAway = isCopied[placeOf(action)];
    const bool isThere =
        kind == BufferKind::OnHost || (isLoaded(kind) && isAway) ||
        (isOffloaded(kind) && (!isAway || action.traits().isCopy() ||
                               action.kind() == ActionKind::Forward));
    const int32_t buffer =
        static_cast<int32_t>(action.subject) * numBufferKinds +
        static_cast<int32_t>(kind);
    const int64_t slot = isThere ? slots.of(buffer, action.index) : Slots::none;
    for (int64_t i = 0; slot >= 0 && i < slots.span(buffer, action.index); ++i)
      visit(releasedBy[slot + i]);
  }

  void await(Lane lane, int64_t position) {
    uint8_t &known = knownBy[position - first];
    const auto bit = static_cast<uint8_t>(1u << static_cast<int>(lane));
    if (known & bit)
      return;
    known |= bit;
    waits.awaited.push_back(position);
  }

  const Problem &problem;
  const Program &program;
  const Schedule &order;
  const Slots slots;
  /// [slot]: position of the action that has released it last.
  std::vector<int64_t> releasedBy;
  /// [replica * microbatches + microbatch].
  std::vector<bool> isCopied;
  /// [position]: the number of a task or copy among them; [number]: its
  /// position.
  std::vector<int64_t> numberOf, positions;
  CopyWaits ofTasks;
  LaneWaits waits;
  int32_t rank = 0;
  /// Position of the rank's first action.
  int64_t first = 0;
  /// [position in the rank]: bit of each lane that has awaited the action.
  std::vector<uint8_t> knownBy;
};

} // namespace

LaneWaits rondo::laneWaitsOf(const Problem &problem, const Program &program) {
  return program.order.hasCopies() ? Derivation(problem, program).run()
                                   : LaneWaits();
}
