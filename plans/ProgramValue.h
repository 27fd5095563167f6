//===- ProgramValue.h - A program as a value --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANS_PROGRAMVALUE_H
#define RONDO_PLANS_PROGRAMVALUE_H

#include "dialect/Bridge.h"

namespace rondo::pipe {

/// The analysis of a pipe.program: the program that its op states. Verifying
/// and emitting share one expansion. A pass that changes the program, its
/// schedule or its plan must not preserve it.
class ProgramValue {
public:
  /// Emits an error if the op cannot be expanded.
  explicit ProgramValue(mlir::Operation *op);

  /// Whether the op could be expanded; if not, the members below are empty.
  bool isReadable() const { return readable; }
  /// The problem whose ranks run the program.
  const Problem &executing() const { return ranks; }
  const Program &program() const { return expanded.program; }
  /// The action that each op of the ranks writes, without its index.
  const llvm::DenseMap<mlir::Operation *, Action> &actions() const {
    return expanded.actions;
  }

private:
  bool readable = false;
  Problem ranks;
  ExpandedProgram expanded;
};

} // namespace rondo::pipe

#endif // RONDO_PLANS_PROGRAMVALUE_H
