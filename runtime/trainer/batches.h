//===- batches.h - Batches of documents and their programs ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_BATCHES_H
#define RONDO_RUNTIME_TRAINER_BATCHES_H

#include "runtime/trainer/extras.h"

namespace rondo::runtime {

// Only programs that draw documents link these; they are the functions of
// BatchSchedules.
std::shared_ptr<Documents> openBatches(const Options &options, int32_t vocab,
                                       bool isGenerated);
std::unique_ptr<Batches> makeBatches(Trainer &trainer, uint64_t seed,
                                     int64_t last);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_BATCHES_H
