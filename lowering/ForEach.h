//===- ForEach.h - Work that may run on several threads ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_FOREACH_H
#define RONDO_LOWERING_FOREACH_H

#include <cstddef>
#include <functional>

namespace rondo {

/// Calls `work(i)` for every i below `count` and returns when all calls have;
/// perhaps several at a time.
using ForEach = std::function<void(size_t count,
                                   const std::function<void(size_t i)> &work)>;

/// One after another.
inline void inTurn(size_t count, const std::function<void(size_t)> &work) {
  for (size_t i = 0; i < count; ++i)
    work(i);
}

/// Calls `work` for the last one first: of a schedule's programs that is the
/// pipeline, which has most to do.
inline void fromTheLast(const ForEach &forEach, size_t count,
                        const std::function<void(size_t i)> &work) {
  forEach(count, [&](size_t i) { work(count - 1 - i); });
}

} // namespace rondo

#endif // RONDO_LOWERING_FOREACH_H
