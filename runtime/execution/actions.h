//===- actions.h - The functions that emitted code calls --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only emitted code calls the functions, in the rank's order. `replica`, a
// number of Executable::replicas, and `microbatch` name the task; messages are
// named by their producer. They throw rondo::runtime::Error.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_EXECUTION_ACTIONS_H
#define RONDO_RUNTIME_EXECUTION_ACTIONS_H

#include "runtime/model/executable.h"

#include <cstdint>

namespace rondo::runtime {

/// Takes the actions of one rank of a program, in its order, as the functions
/// below describe them. `to`: the replica that a message is for; -1: only one
/// needs it.
class Rank {
public:
  virtual ~Rank();

  virtual void forward(int64_t replica, int64_t microbatch) = 0;
  virtual void inputGrad(int64_t replica, int64_t microbatch) = 0;
  virtual void weightGrad(int64_t replica, int64_t microbatch) = 0;
  virtual void backward(int64_t replica, int64_t microbatch) = 0;
  virtual void recompute(int64_t replica, int64_t microbatch) = 0;
  virtual void save(int64_t replica, int64_t microbatch) = 0;
  virtual void load(int64_t replica, int64_t microbatch) = 0;
  virtual void send(Message message, int64_t replica, int64_t to,
                    int64_t microbatch) = 0;
  virtual void receive(Message message, int64_t replica, int64_t to,
                       int64_t microbatch) = 0;
  virtual void allReduce(int64_t collective, int64_t step) = 0;
  virtual void await(int64_t collective, int64_t step) = 0;
  virtual void step(int64_t replica, int64_t step) = 0;
  virtual void unshard(int64_t replica, int64_t unit) = 0;
  virtual void reshard(int64_t replica, int64_t unit) = 0;
  virtual void reduceGrad(int64_t replica, int64_t unit) = 0;
  virtual int64_t repetitions() = 0;
};

inline void forward(Rank &rank, int64_t replica, int64_t microbatch) {
  rank.forward(replica, microbatch);
}
inline void input_grad(Rank &rank, int64_t replica, int64_t microbatch) {
  rank.inputGrad(replica, microbatch);
}
inline void weight_grad(Rank &rank, int64_t replica, int64_t microbatch) {
  rank.weightGrad(replica, microbatch);
}
/// The forward again, of layers that keep nothing for their backward.
inline void recompute(Rank &rank, int64_t replica, int64_t microbatch) {
  rank.recompute(replica, microbatch);
}
/// Input gradient and weight gradient.
inline void backward(Rank &rank, int64_t replica, int64_t microbatch) {
  rank.backward(replica, microbatch);
}

/// The place of a copy of activations to the host, or back, in the order. On a
/// CPU does nothing: the lanes of copies have their lists from the start of the
/// iteration. On a GPU enqueues the copy.
inline void save(Rank &rank, int64_t replica, int64_t microbatch) {
  rank.save(replica, microbatch);
}
inline void load(Rank &rank, int64_t replica, int64_t microbatch) {
  rank.load(replica, microbatch);
}

/// Hands the message that `replica` made to the rank that needs it. Does not
/// block; the buffer stays in use until the receiver has the message.
inline void send(Rank &rank, Message message, int64_t replica,
                 int64_t microbatch) {
  rank.send(message, replica, /*to=*/-1, microbatch);
}
/// The same for replica `to`, if several replicas need it or a part of it.
inline void send(Rank &rank, Message message, int64_t replica, int64_t to,
                 int64_t microbatch) {
  rank.send(message, replica, to, microbatch);
}
/// Posts the buffer for the message that `replica` makes. Does not block,
/// except for a send that still reads that buffer's slot.
inline void recv(Rank &rank, Message message, int64_t replica,
                 int64_t microbatch) {
  rank.receive(message, replica, /*to=*/-1, microbatch);
}
inline void recv(Rank &rank, Message message, int64_t replica, int64_t to,
                 int64_t microbatch) {
  rank.receive(message, replica, to, microbatch);
}

/// Issues a collective of the program; collectives run in the order issued on
/// this rank. Does not block; gradients that it reads must not change until
/// await() returns.
///
/// `step` numbers the iterations of a run, from 0; so it does below.
inline void all_reduce(Rank &rank, int64_t collective, int64_t step = 0) {
  rank.allReduce(collective, step);
}
/// For a replica that keeps a shard of its state: issues the `unit`-th gather
/// of its weights in this iteration, from 0. It does not block; tasks of the
/// replica may read the weights once the collective GatherWeights of its group
/// has been awaited for this unit, until reshard() frees them.
inline void unshard(Rank &rank, int64_t replica, int64_t unit) {
  rank.unshard(replica, unit);
}
inline void reshard(Rank &rank, int64_t replica, int64_t unit) {
  rank.reshard(replica, unit);
}
/// Issues the `unit`-th sum of the group's gradients, those of the W and B of
/// each replica since the one before. Does not block; awaiting the collective
/// ScatterGradients of the group for this unit adds the replica's shard to its
/// gradients.
inline void reduce_grad(Rank &rank, int64_t replica, int64_t unit) {
  rank.reduceGrad(replica, unit);
}
/// Waits for a collective that the rank has issued; `step` is the unit of one
/// that unshard() or reduce_grad() has issued.
inline void await(Rank &rank, int64_t collective, int64_t step = 0) {
  rank.await(collective, step);
}
/// Optimizer step of a replica, with the norm's clip factor if the program
/// computes one.
inline void step(Rank &rank, int64_t replica, int64_t step = 0) {
  rank.step(replica, step);
}

/// If iterations overlap: how often the part that repeats must run to reach the
/// end of the run. The functions above skip what belongs to later iterations.
inline int64_t repetitions(Rank &rank) { return rank.repetitions(); }

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_ACTIONS_H
