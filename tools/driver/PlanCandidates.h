//===- PlanCandidates.h - Plans among which one is chosen -------*- C++ -*-===//

#ifndef RONDO_TOOLS_DRIVER_PLANCANDIDATES_H
#define RONDO_TOOLS_DRIVER_PLANCANDIDATES_H

#include "passes/PlanShapes.h"
#include "schedule/Objective.h"
#include "schedule/Search.h"
#include "tools/driver/ModuleFile.h"
#include "tools/driver/WallLimit.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace rondo::driver {

inline constexpr int64_t noObjective = std::numeric_limits<int64_t>::max();

/// One plan that may be chosen.
struct Shaped {
  pipe::PlanShape shape;
  /// Null where there is no plan of this shape.
  pipe::PlanOp plan;
  /// Its caps are what is left of each device beside the state of its stages:
  /// weights, gradients, moments, control, data and workspace.
  Problem problem;
  /// The same with lower caps, where programs of schedules did not fit.
  Problem tightened;
  /// Of that problem.
  Bound bound;
  std::optional<SearchResult> found;
  /// Why it is not searched, or not chosen.
  std::string why;

  /// noObjective where no schedule was found.
  int64_t objective() const {
    return found && found->schedule ? objectiveOf(problem, found->simulation)
                                    : noObjective;
  }
  /// Keeps the better of two searches, and the better of their bounds.
  void keep(SearchResult result) {
    if (!found) {
      found = std::move(result);
      return;
    }
    Bound best =
        found->bound.ns < result.bound.ns ? result.bound : found->bound;
    int64_t before = objective();
    std::swap(*found, result);
    if (objective() >= before)
      std::swap(*found, result);
    found->bound = best;
    found->provenOptimal = objective() <= best.ns;
  }
  int64_t knownBound() const {
    return found ? std::max(bound.ns, found->bound.ns) : bound.ns;
  }
};

/// Which plans a command line asks for: lists with commas, or auto. Where
/// neither placements nor chunks are named, the stages stay as they are
/// written.
struct ShapeRequest {
  std::string placements, chunks, microbatches;

  bool isEmpty() const {
    return placements.empty() && chunks.empty() && microbatches.empty();
  }
};

/// What the command line says.
ShapeRequest shapeRequest();

/// Reads a file with one plan whose costs come from its layers, and resolves
/// its stages. Returns the exit code; every failure has been printed.
int readBasePlan(ModuleFile &file, const std::string &path, pipe::PlanOp &base);

/// The shapes for a plan. Returns the exit code; what makes no sense has been
/// printed.
int chooseShapes(const ShapeRequest &request, pipe::PlanOp base,
                 std::vector<pipe::PlanShape> &shapes);

/// A candidate of each shape, with the objective of the command line and a
/// bound. One that cannot be searched, or is the same as one before it, says
/// why. Where one can be searched this takes up to about a half of `limit`, and
/// shapes beyond have no plan but `noTime` as their reason.
std::vector<Shaped> makeCandidates(pipe::PlanOp base,
                                   const std::vector<pipe::PlanShape> &shapes,
                                   const WallLimit &limit);

/// Why a candidate is not made or not searched.
inline constexpr const char *noTime = "no time";

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_PLANCANDIDATES_H
