//===- MegatronLayout.h - Stages as Megatron-LM writes them -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_EXCHANGE_MEGATRONLAYOUT_H
#define RONDO_FORMATS_EXCHANGE_MEGATRONLAYOUT_H

#include "formats/exchange/Exchange.h"

namespace rondo::exchange {

/// The value of --pipeline-model-parallel-layout: `Ett|(tt|)*2ttL`, shortened
/// where stages in a row are alike.
std::string megatronLayout(llvm::ArrayRef<StageLayers> layers);

/// The order of each rank under Megatron-LM's 1F1B, or, with several stages a
/// rank in a loop, its interleaved schedule with groups of so many
/// micro-batches. Backwards are whole.
Schedule megatronSchedule(const Problem &problem, int64_t groupSize);

} // namespace rondo::exchange

#endif // RONDO_FORMATS_EXCHANGE_MEGATRONLAYOUT_H
