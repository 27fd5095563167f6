//===- copies.cpp - Copies of activations to the host and back ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/copies.h"

#include "runtime/base/error.h"

using namespace rondo;
using namespace rondo::runtime;

Copies::Copies(const RankContext &context, const Messages &messages,
               HostLinks *links)
    : context(context) {
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
