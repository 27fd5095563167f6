//===- copies.cpp - Copies of activations to the host and back ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/copies.h"

#include "runtime/base/error.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

bool rondo::runtime::ordersCopies(const ProgramDesc &program) {
  auto hasTurn = [](const CopyDesc &copy) { return copy.turn >= 0; };
  return program.copies &&
         std::any_of(program.copies, program.copies + program.numRanks,
                     [&](const RankCopiesDesc &rank) {
                       return std::any_of(
                           rank.copies, rank.copies + rank.numCopies, hasTurn);
                     });
}

Copies::Copies(const RankContext &context, const Messages &messages,
               HostLinks *links)
    : context(context), hasOrder(ordersCopies(context.program)) {
  // A rank without copies counts the turns of those that share its link.
  if (!context.program.copies ||
      (context.program.copies[context.rank].numCopies == 0 && !links))
    return;
  const Executable &executable = context.state.executable();
  if (!executable.extras.copies)
    throw Error("'" + std::string(executable.name) +
                "' copies activations, but does not name activationCopies "
                "among its extras");
  runner = executable.extras.copies->make(context, messages, links);
}

void Copies::reach(ActionKind kind, int64_t replica, int64_t microbatch) {
  if (!runner || !runner->has(kind, replica, microbatch))
    throw Error(
        "the program of rank " + std::to_string(context.rank) + " runs " +
        actionName(kind, Message::None, replica, microbatch) + " of replica " +
        std::to_string(replica) + ", which its list of copies does not have");
  runner->reach(kind, replica, microbatch);
}
