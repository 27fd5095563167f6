//===- Figures.h - Times, sizes and shares as text --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_REPORTS_FIGURES_H
#define RONDO_REPORTS_FIGURES_H

#include "schedule/model/Problem.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace rondo {

/// `12 ns`, `3.5 us`, `1.25 ms`, `2 s`: up to three decimals.
std::string formatNs(int64_t ns);
/// `12 FLOP`, `3.5 GFLOP`: up to three decimals.
std::string formatFlops(int64_t flops);
/// `12 B`, `3.5 KiB`, `1.25 MiB`, `2 GiB`.
std::string formatBytes(int64_t bytes);

/// The rank with the least room, `26.1 MiB of 64 MiB (rank 0)`, given arenas
/// and their devices' memory, which is noMemoryCap if unlimited.
std::string fullestArena(llvm::ArrayRef<int64_t> arenas,
                         llvm::ArrayRef<int64_t> devices);
/// `26.1 MiB of 64 MiB, 20 MiB of 64 MiB`.
std::string arenasByRank(llvm::ArrayRef<int64_t> arenas,
                         llvm::ArrayRef<int64_t> devices);

/// `3.4 %` for 0.034.
std::string formatPercent(double share);

/// `6 iterations of 2 micro-batches`, or `8 micro-batches` of a single one.
std::string microbatchesText(const Problem &problem);
/// `4 ranks, 8 stages, 16 micro-batches`.
std::string shapeOf(const Problem &problem);
/// `mid: 8 stages on 4 ranks, 16 micro-batches`.
std::string titleOf(const Problem &problem);

} // namespace rondo

#endif // RONDO_REPORTS_FIGURES_H
