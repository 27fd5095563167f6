//===- batch_sizes.cpp - Sizes of the micro-batches of a batch ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only programs that draw documents link it.
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/batch_sizes.h"

namespace rondo::runtime {

BatchSizes::BatchSizes(State &state, const ProgramDesc &program)
    : state(state), tables(*program.uneven) {
  tables.check(state.exe, program);
  for (int32_t k = 0; k < tables.numSizes; ++k) {
    ProgramDesc ofSize = program;
    ofSize.layers = tables.sizes[k].layers;
    ofSize.shares = tables.sizes[k].shares;
    state.checkStages(ofSize);
    std::vector<ReplicaBinding> &replicas = sizes.emplace_back();
    for (int32_t h = 0; h < state.exe.numReplicas; ++h) {
      replicas.push_back(state.bindReplica(h, ofSize));
      replicas.back().takeTensors(state.replicas()[h]);
    }
    state.loadBodies(replicas, bodies);
  }
}

void BatchSizes::attach() {
  state.batches[&tables] = &sizes;
  isAttached = true;
}

BatchSizes::~BatchSizes() {
  if (isAttached)
    state.batches.erase(&tables);
}

} // namespace rondo::runtime
