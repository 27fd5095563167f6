//===- Threads.h - Work on the threads of a context -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_THREADS_H
#define RONDO_PASSES_THREADS_H

#include "lowering/ForEach.h"

#include "mlir/IR/Threading.h"

namespace rondo::pipe {

/// As many as the context has; `--mlir-disable-threading` leaves one.
inline ForEach onThreadsOf(mlir::MLIRContext *context) {
  return [context](size_t count, const std::function<void(size_t)> &work) {
    mlir::parallelFor(context, 0, count, work);
  };
}

/// Calls work(i) for every i below `count` on the context's threads, the last
/// one first: of a schedule's programs that is the pipeline, the largest.
inline void forEachProgram(mlir::MLIRContext *context, size_t count,
                           const std::function<void(size_t)> &work) {
  mlir::parallelFor(context, 0, count, [&](size_t i) { work(count - 1 - i); });
}

} // namespace rondo::pipe

#endif // RONDO_PASSES_THREADS_H
