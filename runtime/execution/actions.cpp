//===- actions.cpp - The functions that emitted code calls ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/actions.h"

#include "runtime/execution/rank_actions.h"

using namespace rondo::runtime;

void rondo::runtime::forward(Rank &rank, int64_t home, int64_t microbatch) {
  rank.forward(home, microbatch);
}
void rondo::runtime::input_grad(Rank &rank, int64_t home, int64_t microbatch) {
  rank.inputGrad(home, microbatch);
}
void rondo::runtime::weight_grad(Rank &rank, int64_t home, int64_t microbatch) {
  rank.weightGrad(home, microbatch);
}
void rondo::runtime::recompute(Rank &rank, int64_t home, int64_t microbatch) {
  rank.recompute(home, microbatch);
}
void rondo::runtime::backward(Rank &rank, int64_t home, int64_t microbatch) {
  rank.inputGrad(home, microbatch);
  rank.weightGrad(home, microbatch);
}
void rondo::runtime::send(Rank &rank, Message message, int64_t home,
                          int64_t microbatch) {
  rank.send(message, home, /*to=*/-1, microbatch);
}
void rondo::runtime::send(Rank &rank, Message message, int64_t home, int64_t to,
                          int64_t microbatch) {
  rank.send(message, home, to, microbatch);
}
void rondo::runtime::recv(Rank &rank, Message message, int64_t home,
                          int64_t microbatch) {
  rank.receive(message, home, /*to=*/-1, microbatch);
}
void rondo::runtime::recv(Rank &rank, Message message, int64_t home, int64_t to,
                          int64_t microbatch) {
  rank.receive(message, home, to, microbatch);
}
void rondo::runtime::all_reduce(Rank &rank, int64_t collective, int64_t step) {
  rank.allReduce(collective, step);
}
void rondo::runtime::unshard(Rank &rank, int64_t home, int64_t unit) {
  rank.unshard(home, unit);
}
void rondo::runtime::reshard(Rank &rank, int64_t home, int64_t unit) {
  rank.reshard(home, unit);
}
void rondo::runtime::reduce_grad(Rank &rank, int64_t home, int64_t unit) {
  rank.reduceGrad(home, unit);
}
void rondo::runtime::await(Rank &rank, int64_t collective, int64_t step) {
  rank.await(collective, step);
}
void rondo::runtime::step(Rank &rank, int64_t home, int64_t step) {
  rank.step(home, step);
}
int64_t rondo::runtime::repetitions(Rank &rank) { return rank.repetitions(); }
