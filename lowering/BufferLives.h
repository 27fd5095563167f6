//===- BufferLives.h - First and last use of buffers ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Used only by the memory planner.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LOWERING_BUFFERLIVES_H
#define RONDO_LOWERING_BUFFERLIVES_H

#include "lowering/SlotAssignment.h"
#include "schedule/model/BufferNumbers.h"
#include "schedule/program/ProgramSimulator.h"

#include <vector>

namespace rondo {

/// The lives of a program's buffers, except those of state. The program must
/// keep rule L1. All arguments must outlive this object.
class BufferLives {
public:
  /// `replicas` names the rank that holds each replica's state. `simulation` is
  /// that of the program without places. A buffer of size 0 in `sizes` does not
  /// exist.
  BufferLives(const Problem &problem, const Replicas &replicas,
              const Program &program, const ProgramSimulation &simulation,
              const BufferNumbers &numbers, const std::vector<SlotSize> &sizes)
      : problem(problem), replicas(replicas), program(program),
        simulation(simulation), numbers(numbers), sizes(sizes), edges(problem) {
    findHostActions();
  }

  /// Lives of all buffers whose actions are on one executing rank. O(actions of
  /// the rank), with copies O(actions * log actions).
  std::vector<Life> of(int32_t rank) const {
    std::vector<Life> lives;
    const ActionRange actions = program.order.rank(rank);
    // An estimate: most actions make or fill one buffer.
    lives.reserve(actions.size());
    collectLives(rank, actions, problem.microbatches, lives);
    collectMovedLives(rank, lives);
    return lives;
  }
  /// Lives of the first micro-batch alone; `actions` are its actions.
  std::vector<Life> ofFirstMicrobatch(int32_t rank, ActionRange actions) const {
    std::vector<Life> lives;
    collectLives(rank, actions, /*microbatches=*/1, lives);
    return lives;
  }

private:
  using Lives = std::vector<Life>;
  class TaskLives;
  void collectLives(int32_t rank, ActionRange actions, int32_t microbatches,
                    Lives &lives) const;
  void collectMovedLives(int32_t rank, Lives &lives) const;
  void addLife(Lives &lives, int32_t buffer, int64_t index, int64_t first,
               int64_t last) const;
  int64_t sendReleased(int32_t rank, int64_t sendPosition) const;
  void findHostActions();

  const Problem &problem;
  const Replicas &replicas;
  const Program &program;
  const ProgramSimulation &simulation;
  const BufferNumbers &numbers;
  const std::vector<SlotSize> &sizes;
  const EdgeTable edges;

  /// The actions of a rank's host, by their positions in the rank's order.
  /// Starts never decrease.
  struct HostActions {
    std::vector<int64_t> positions, startNs;
  };
  /// [rank]; empty without copies, where these are all actions.
  std::vector<HostActions> hostActions;
};

} // namespace rondo

#endif // RONDO_LOWERING_BUFFERLIVES_H
