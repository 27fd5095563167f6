//===- actions.h - The functions that emitted code calls --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only emitted code calls these, in the rank's order. `home`, a number of
// Executable::homes, and `microbatch` name the task; messages are named by
// their producer. They throw
// rondo::runtime::Error.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_EXECUTION_ACTIONS_H
#define RONDO_RUNTIME_EXECUTION_ACTIONS_H

#include "runtime/model/executable.h"

#include <cstdint>

namespace rondo::runtime {

void forward(Rank &rank, int64_t home, int64_t microbatch);
void input_grad(Rank &rank, int64_t home, int64_t microbatch);
void weight_grad(Rank &rank, int64_t home, int64_t microbatch);
/// The forward again, of layers that keep nothing for their backward.
void recompute(Rank &rank, int64_t home, int64_t microbatch);
/// Input gradient, then weight gradient.
void backward(Rank &rank, int64_t home, int64_t microbatch);

/// Hands the message that `home` made to the rank that needs it. Does not
/// block; the buffer stays in use until the receiver has the message.
void send(Rank &rank, Message message, int64_t home, int64_t microbatch);
/// The same if several homes need it or a part of it, for home `to`.
void send(Rank &rank, Message message, int64_t home, int64_t to,
          int64_t microbatch);
/// Posts the buffer for the message that `home` makes. Does not block, except
/// for a send that still reads that buffer's slot.
void recv(Rank &rank, Message message, int64_t home, int64_t microbatch);
void recv(Rank &rank, Message message, int64_t home, int64_t to,
          int64_t microbatch);

/// Issues a collective of the program; collectives run in the order issued on
/// this rank. Does not block; gradients that it reads must not change until
/// await() returns.
///
/// `step` numbers the iterations of a run, from 0; so it does below.
void all_reduce(Rank &rank, int64_t collective, int64_t step = 0);
/// Waits for a collective that the rank has issued.
void await(Rank &rank, int64_t collective, int64_t step = 0);
/// Optimizer step of a home, with the norm's clip factor if the program
/// computes one.
void step(Rank &rank, int64_t home, int64_t step = 0);

/// Where iterations overlap: how often the part that repeats is to run, so that
/// it reaches the end of the run. What belongs to iterations behind the end is
/// left out by the functions above.
int64_t repetitions(Rank &rank);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_ACTIONS_H
