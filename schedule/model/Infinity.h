//===- Infinity.h - Infinite times and sizes --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_MODEL_INFINITY_H
#define RONDO_SCHEDULE_MODEL_INFINITY_H

#include <cstdint>
#include <limits>

namespace rondo {

/// No limit, or the cost of what cannot be: not below any time or size. Sums
/// with it overflow.
inline constexpr int64_t infinite = std::numeric_limits<int64_t>::max();

/// A time that is never reached: no schedule from a state reaches the end, or
/// no value is known. Its sum with a time fits 64 bits.
inline constexpr int64_t never = int64_t(1) << 62;

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_INFINITY_H
