//===- actions.cpp - The functions that emitted code calls ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/actions.h"

#include "runtime/execution/rank_actions.h"

using namespace rondo::runtime;

void rondo::runtime::forward(Rank &rank, int64_t replica, int64_t microbatch) {
  rank.forward(replica, microbatch);
}
void rondo::runtime::input_grad(Rank &rank, int64_t replica,
                                int64_t microbatch) {
  rank.inputGrad(replica, microbatch);
}
void rondo::runtime::weight_grad(Rank &rank, int64_t replica,
                                 int64_t microbatch) {
  rank.weightGrad(replica, microbatch);
}
void rondo::runtime::recompute(Rank &rank, int64_t replica,
                               int64_t microbatch) {
  rank.recompute(replica, microbatch);
}
void rondo::runtime::backward(Rank &rank, int64_t replica, int64_t microbatch) {
  rank.inputGrad(replica, microbatch);
  rank.weightGrad(replica, microbatch);
}
void rondo::runtime::send(Rank &rank, Message message, int64_t replica,
                          int64_t microbatch) {
  rank.send(message, replica, /*to=*/-1, microbatch);
}
void rondo::runtime::send(Rank &rank, Message message, int64_t replica,
                          int64_t to, int64_t microbatch) {
  rank.send(message, replica, to, microbatch);
}
void rondo::runtime::recv(Rank &rank, Message message, int64_t replica,
                          int64_t microbatch) {
  rank.receive(message, replica, /*to=*/-1, microbatch);
}
void rondo::runtime::recv(Rank &rank, Message message, int64_t replica,
                          int64_t to, int64_t microbatch) {
  rank.receive(message, replica, to, microbatch);
}
void rondo::runtime::all_reduce(Rank &rank, int64_t collective, int64_t step) {
  rank.allReduce(collective, step);
}
void rondo::runtime::unshard(Rank &rank, int64_t replica, int64_t unit) {
  rank.unshard(replica, unit);
}
void rondo::runtime::reshard(Rank &rank, int64_t replica, int64_t unit) {
  rank.reshard(replica, unit);
}
void rondo::runtime::reduce_grad(Rank &rank, int64_t replica, int64_t unit) {
  rank.reduceGrad(replica, unit);
}
void rondo::runtime::await(Rank &rank, int64_t collective, int64_t step) {
  rank.await(collective, step);
}
void rondo::runtime::step(Rank &rank, int64_t replica, int64_t step) {
  rank.step(replica, step);
}
int64_t rondo::runtime::repetitions(Rank &rank) { return rank.repetitions(); }
