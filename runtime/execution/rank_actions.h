//===- rank_actions.h - What the function of a rank calls -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_RANK_ACTIONS_H
#define RONDO_RUNTIME_EXECUTION_RANK_ACTIONS_H

#include "runtime/model/executable.h"

#include <cstdint>

namespace rondo::runtime {

/// Takes the actions of one rank of a program, in its order. Emitted functions
/// reach it by way of actions.h, which says what each action means. `to`: the
/// replica that a message is for; -1 where only one needs it.
class Rank {
public:
  virtual ~Rank();

  virtual void forward(int64_t replica, int64_t microbatch) = 0;
  virtual void inputGrad(int64_t replica, int64_t microbatch) = 0;
  virtual void weightGrad(int64_t replica, int64_t microbatch) = 0;
  virtual void recompute(int64_t replica, int64_t microbatch) = 0;
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

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_RANK_ACTIONS_H
