//===- actions.h - The functions that emitted code calls --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only emitted code calls these, in the rank's order. `replica`, a number of
// Executable::replicas, and `microbatch` name the task; messages are named by
// their producer. They throw
// rondo::runtime::Error.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_EXECUTION_ACTIONS_H
#define RONDO_RUNTIME_EXECUTION_ACTIONS_H

#include "runtime/model/executable.h"

#include <cstdint>

namespace rondo::runtime {

void forward(Rank &rank, int64_t replica, int64_t microbatch);
void input_grad(Rank &rank, int64_t replica, int64_t microbatch);
void weight_grad(Rank &rank, int64_t replica, int64_t microbatch);
/// The forward again, of layers that keep nothing for their backward.
void recompute(Rank &rank, int64_t replica, int64_t microbatch);
/// Input gradient, then weight gradient.
void backward(Rank &rank, int64_t replica, int64_t microbatch);

/// Hands the message that `replica` made to the rank that needs it. Does not
/// block; the buffer stays in use until the receiver has the message.
void send(Rank &rank, Message message, int64_t replica, int64_t microbatch);
/// The same if several replicas need it or a part of it, for replica `to`.
void send(Rank &rank, Message message, int64_t replica, int64_t to,
          int64_t microbatch);
/// Posts the buffer for the message that `replica` makes. Does not block,
/// except for a send that still reads that buffer's slot.
void recv(Rank &rank, Message message, int64_t replica, int64_t microbatch);
void recv(Rank &rank, Message message, int64_t replica, int64_t to,
          int64_t microbatch);

/// Issues a collective of the program; collectives run in the order issued on
/// this rank. Does not block; gradients that it reads must not change until
/// await() returns.
///
/// `step` numbers the iterations of a run, from 0; so it does below.
void all_reduce(Rank &rank, int64_t collective, int64_t step = 0);
/// Of a replica that keeps a shard of its state: issues the `unit`-th gather of
/// its weights in this iteration, from 0. It does not block; tasks of the
/// replica may read the weights once the collective GatherWeights of its group
/// has been awaited for this unit, until reshard() frees them.
void unshard(Rank &rank, int64_t replica, int64_t unit);
void reshard(Rank &rank, int64_t replica, int64_t unit);
/// Issues the `unit`-th sum of the group's gradients, those of the W and B of
/// each replica since the one before. Does not block; awaiting the collective
/// ScatterGradients of the group for this unit adds the replica's shard to its
/// gradients.
void reduce_grad(Rank &rank, int64_t replica, int64_t unit);
/// Waits for a collective that the rank has issued; `step` is the unit of one
/// that unshard() or reduce_grad() has issued.
void await(Rank &rank, int64_t collective, int64_t step = 0);
/// Optimizer step of a replica, with the norm's clip factor if the program
/// computes one.
void step(Rank &rank, int64_t replica, int64_t step = 0);

/// Where iterations overlap: how often the part that repeats is to run, so that
/// it reaches the end of the run. What belongs to iterations behind the end is
/// left out by the functions above.
int64_t repetitions(Rank &rank);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_ACTIONS_H
