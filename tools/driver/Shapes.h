//===- Shapes.h - Plans of the shapes that options ask for ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_SHAPES_H
#define RONDO_TOOLS_DRIVER_SHAPES_H

#include "planning/PlanCandidates.h"
#include "tools/driver/Arguments.h"
#include "tools/driver/ModuleFile.h"

#include "dialect/Pipe.h"

#include "llvm/ADT/MapVector.h"

#include <string>
#include <vector>

namespace rondo::driver {

/// Which plans a command line asks for: comma-separated lists, or auto. If
/// neither placements nor chunks are given, the stages stay as written.
struct ShapeRequest {
  std::string placements, chunks, microbatches;

  bool isEmpty() const {
    return placements.empty() && chunks.empty() && microbatches.empty();
  }
};

/// Reads the options of options/Searching.td.
ShapeRequest shapeRequest(const Arguments &arguments);

/// Reads a file with one plan whose costs come from its layers, and resolves
/// its stages. Returns the exit code; every failure has been printed.
int readBasePlan(ModuleFile &file, const std::string &path, pipe::PlanOp &base);

/// Whether readBasePlan() takes the plan of a file that has been read.
bool mayChangeShape(ModuleFile &file);

/// Finds the shapes for a plan. Returns the exit code after printing an error.
int chooseShapes(const ShapeRequest &request, pipe::PlanOp base,
                 std::vector<PlanShape> &shapes);

/// Why a candidate was not made, not searched or not chosen; empty for one that
/// is open.
std::string reasonOf(const PlanCandidate &candidate,
                     llvm::ArrayRef<PlanCandidate> candidates);

/// The candidates without a plan: each reason once, with the shape it applies
/// to, or `V and 4 more` if three or more share it. Other candidates are
/// absent.
llvm::MapVector<const PlanCandidate *, std::string>
planless(llvm::ArrayRef<PlanCandidate> candidates);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_SHAPES_H
