//===- PlanCandidates.h - Plans among which one is chosen -------*- C++ -*-===//

#ifndef RONDO_TOOLS_DRIVER_PLANCANDIDATES_H
#define RONDO_TOOLS_DRIVER_PLANCANDIDATES_H

#include "passes/PlanShapes.h"
#include "planning/FittingSearch.h"
#include "planning/WallLimit.h"
#include "schedule/Objective.h"
#include "schedule/Search.h"
#include "tools/driver/ModuleFile.h"

#include "llvm/ADT/MapVector.h"

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
  /// Its caps are what is left of each device beside the state of its stages.
  Problem problem;
  pipe::PlanFigures figures;
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
  void keep(SearchResult result) {
    pipe::keepBetter(problem, found, std::move(result));
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
                                   const pipe::WallLimit &limit);

/// The candidates without a plan, each reason once, with the shape that it is
/// said of: where three or more share it, `V and 4 more`. Others are absent.
llvm::MapVector<const Shaped *, std::string>
planless(llvm::ArrayRef<Shaped> candidates);

/// Why a candidate is not made or not searched.
inline constexpr const char *noTime = "no time";

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_PLANCANDIDATES_H
