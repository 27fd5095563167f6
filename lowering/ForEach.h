//===- ForEach.h - Work that may run on several threads ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_FOREACH_H
#define RONDO_LOWERING_FOREACH_H

#include <cstddef>
#include <functional>

namespace rondo {

/// Calls `work(i)` for every i below `count`, possibly in parallel, and returns
/// when all calls have returned.
using ForEach = std::function<void(size_t count,
                                   const std::function<void(size_t i)> &work)>;

/// Calls `work` sequentially.
inline void inTurn(size_t count, const std::function<void(size_t)> &work) {
  for (size_t i = 0; i < count; ++i)
    work(i);
}

/// Calls `work` for the last index first: the last of a schedule's programs is
/// the pipeline, which takes longest.
inline void fromTheLast(const ForEach &forEach, size_t count,
                        const std::function<void(size_t i)> &work) {
  forEach(count, [&](size_t i) { work(count - 1 - i); });
}

} // namespace rondo

#endif // RONDO_LOWERING_FOREACH_H
