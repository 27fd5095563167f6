//===- actions.h - What emitted functions call ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only emitted code calls them, in the rank's order. `stage` and `microbatch`
// name the task; messages are named by their producer. Errors are thrown as
// rondo::runtime::Error.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_EXECUTION_ACTIONS_H
#define RONDO_RUNTIME_EXECUTION_ACTIONS_H

#include "runtime/model/executable.h"

#include <cstdint>

namespace rondo::runtime {

void forward(Rank &rank, int64_t stage, int64_t microbatch);
void input_grad(Rank &rank, int64_t stage, int64_t microbatch);
void weight_grad(Rank &rank, int64_t stage, int64_t microbatch);
/// Input gradient, then weight gradient.
void backward(Rank &rank, int64_t stage, int64_t microbatch);

/// Hands the message that `stage` made over to the rank that needs it. Does not
/// block; the buffer stays in use until the receiver has it.
void send(Rank &rank, Message message, int64_t stage, int64_t microbatch);
/// The same where several stages need one, for stage `to`.
void send(Rank &rank, Message message, int64_t stage, int64_t to,
          int64_t microbatch);
/// Posts the buffer for the message that `stage` makes. Does not block, except
/// for a send that still reads that buffer's slot.
void recv(Rank &rank, Message message, int64_t stage, int64_t microbatch);
void recv(Rank &rank, Message message, int64_t stage, int64_t to,
          int64_t microbatch);

/// Issues a collective of the program, in whose order on this rank it runs.
/// Does not block; gradients that it reads stay as they are until await()
/// returns.
void all_reduce(Rank &rank, int64_t collective);
/// Waits for a collective that the rank has issued.
void await(Rank &rank, int64_t collective);
/// Optimizer step of a stage, with the clip factor of the norm.
void step(Rank &rank, int64_t stage);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_ACTIONS_H
