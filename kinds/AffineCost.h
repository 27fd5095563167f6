//===- AffineCost.h - Times by tokens and pairs -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predicted time of a task on a row of documents. Used by compiler and runtime,
// so that both predict the same numbers.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_AFFINECOST_H
#define RONDO_KINDS_AFFINECOST_H

#include <cstdint>

namespace rondo {

/// `fixed + ceil((perToken * tokens + perPair * pairs) / over)`. Pairs are the
/// sum of the squared lengths of a row's documents: attention takes time for
/// these.
struct AffineCost {
  int64_t fixed = 0, perToken = 0, perPair = 0, over = 1;

  /// Times stay below this, so that sums fit 64 bits.
  static constexpr int64_t most = int64_t(1) << 46;

  constexpr int64_t at(int64_t tokens, int64_t pairs) const {
    // Programs include this file without extensions of the language.
    __extension__ using Wide = __int128;
    const Wide sum = Wide(perToken) * tokens + Wide(perPair) * pairs;
    const Wide ns = fixed + (sum + over - 1) / over;
    return ns < most ? static_cast<int64_t>(ns) : most;
  }
};

} // namespace rondo

#endif // RONDO_KINDS_AFFINECOST_H
