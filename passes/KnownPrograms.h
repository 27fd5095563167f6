//===- KnownPrograms.h - What passes hand on about programs -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Analyses of the module, so that a pass need not find out again what one
// before it knew. A pass that changes a program or its plan must not preserve
// them.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PASSES_KNOWNPROGRAMS_H
#define RONDO_PASSES_KNOWNPROGRAMS_H

#include "dialect/Bridge.h"
#include "schedule/program/ProgramSimulator.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <utility>

namespace rondo::pipe {

/// A value for some of the module's programs.
template <typename Value> class ByProgram {
public:
  explicit ByProgram(mlir::Operation *) {}

  void add(ProgramOp op, Value value) { known[op] = std::move(value); }
  /// Hands the value over, once; nothing where there is none. May be called for
  /// several programs at once.
  std::optional<Value> take(ProgramOp op) {
    auto it = known.find(op);
    if (it == known.end())
      return std::nullopt;
    return std::exchange(it->second, std::nullopt);
  }

private:
  llvm::DenseMap<mlir::Operation *, std::optional<Value>> known;
};

/// A program without places, and how it runs: simulateWithoutPlaces().
struct InsertedProgram {
  Program program;
  ProgramSimulation simulation;
};

/// As pipe-insert-communication has written them.
using InsertedPrograms = ByProgram<InsertedProgram>;
/// Programs that pipe-verify-lowered has read and checked.
using VerifiedPrograms = ByProgram<ExpandedProgram>;

} // namespace rondo::pipe

#endif // RONDO_PASSES_KNOWNPROGRAMS_H
