//===- Threads.h - Work on the threads of a context -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANS_THREADS_H
#define RONDO_PLANS_THREADS_H

#include "lowering/ForEach.h"

#include "mlir/IR/Threading.h"

namespace rondo::pipe {

/// Uses the threads of the context; one with `--mlir-disable-threading`.
inline ForEach onThreadsOf(mlir::MLIRContext *context) {
  return [context](size_t count, const std::function<void(size_t)> &work) {
    mlir::parallelFor(context, 0, count, work);
  };
}

} // namespace rondo::pipe

#endif // RONDO_PLANS_THREADS_H
