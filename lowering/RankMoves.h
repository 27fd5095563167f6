//===- RankMoves.h - Awaits of sharded state in a rank's order --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_RANKMOVES_H
#define RONDO_LOWERING_RANKMOVES_H

#include "schedule/program/GroupCollectives.h"
#include "schedule/simulate/Simulator.h"

#include <vector>

namespace rondo {

/// Places the awaits of the gathers and reductions that a rank's order issues.
/// A gather is awaited before the first task that reads its weights. A
/// reduction is awaited before the first task that the simulation starts after
/// the reduction's end, since its gradients take memory until then, and at the
/// latest before the first action that needs its sum.
class RankMoves {
public:
  /// Reads only the collectives of `program`. `simulation` is that of the
  /// schedule; `begin` is the position of the rank's first action in its
  /// arrays.
  RankMoves(const Problem &problem, const Program &program,
            const Simulation &simulation, int64_t begin)
      : problem(problem), isSharded(problem.replicas.areSharded()),
        groups(problem, program), simulation(simulation), begin(begin) {}

  /// Call it before the action at `position` of the rank's order is appended.
  void awaitFor(Action action, int64_t position, Schedule &order);
  /// Call it before collectives that read the gradients of all replicas.
  void awaitReductions(Schedule &order);

private:
  struct Issued {
    int32_t collective;
    Action action;
    int64_t endNs;
  };

  void await(std::vector<Issued> &issued, size_t which, Schedule &order);
  void awaitOf(std::vector<Issued> &issued, int32_t collective,
               Schedule &order);

  const Problem &problem;
  const bool isSharded;
  const GroupCollectives groups;
  const Simulation &simulation;
  const int64_t begin;
  /// Not yet awaited, in the order of issue.
  std::vector<Issued> gathers, reductions;
};

} // namespace rondo

#endif // RONDO_LOWERING_RANKMOVES_H
