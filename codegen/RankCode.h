//===- RankCode.h - What one rank runs, ready for printing ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_RANKCODE_H
#define RONDO_CODEGEN_RANKCODE_H

#include "dialect/Pipe.h"
#include "schedule/model/EdgeTable.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::codegen {

/// A loop or an action of a rank. Everything that may differ between ranks
/// running the same code is a number in `constants`; the rest is the shape.
struct CodeNode {
  bool isLoop = false;
  /// Iterations that each repetition adds, if it repeats to the end of the run.
  int64_t repeats = 0;
  /// Loop: first, end and step. Its induction variable is numbered by its
  /// nesting depth.
  /// Action with a replica: the replica, then the index's constant. Collective:
  /// its number.
  std::vector<int64_t> constants;
  std::vector<CodeNode> body;

  /// Action: the runtime function, such as "forward" or "send".
  std::string callee;
  Subject subject = Subject::Replica;
  /// "Message::Activation" for messages; otherwise empty.
  std::string message;
  bool hasIndex = false;
  /// A message that names its receiver: that replica follows its own.
  bool hasReceiver = false;
  /// Factor of each enclosing loop's variable in the index, outermost first.
  std::vector<int64_t> factors;
};

/// The code of one rank.
struct RankCode {
  int32_t rank = 0;
  std::vector<CodeNode> nodes;

  /// Equal for ranks that can share a function.
  std::string shape() const;
  /// All constants, in the order of the code.
  std::vector<int64_t> constants() const;
};

/// The action that an op writes, apart from its index.
using ActionReader = llvm::function_ref<Action(mlir::Operation *)>;

/// Reads the rolled body of a rank. `problem` is the one that the program is
/// executed on, `edges` its table.
RankCode readRank(pipe::RankOp rank, const Problem &problem,
                  const EdgeTable &edges, ActionReader actionOf);

/// A function that one or more ranks run, and its rows of parameters.
struct SharedFunction {
  std::string name;
  std::vector<int32_t> ranks;
  RankCode code;
  /// Parameter names, in the order of a row.
  std::vector<std::string> parameters;
  /// One per element of `ranks`.
  std::vector<std::vector<int64_t>> rows;
  /// Text of each constant of the code: a number, a parameter, or a
  /// parameter with an offset (`stage - 1`).
  std::vector<std::string> spelling;
};

/// Groups ranks of equal shape, ordered by their first rank. A constant that
/// differs within a group becomes a parameter, or an offset from one.
std::vector<SharedFunction> shareFunctions(std::vector<RankCode> ranks);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_RANKCODE_H
