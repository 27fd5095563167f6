//===- WallLimit.h - Wall time of a whole command ---------------*- C++ -*-===//

#ifndef RONDO_PLANNING_WALLLIMIT_H
#define RONDO_PLANNING_WALLLIMIT_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace rondo::pipe {

/// Counts from its making.
class WallLimit {
public:
  /// 0: no limit.
  explicit WallLimit(int64_t ms) : ms(ms) {}

  bool exists() const { return ms > 0; }
  /// What is left of the first `part` of the limit, 0 to 1, in ms, not below 0;
  /// int64_t's maximum where there is no limit.
  int64_t leftMs(double part = 1) const {
    if (!exists())
      return std::numeric_limits<int64_t>::max();
    const auto used = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - begin);
    return std::max<int64_t>(0, int64_t(double(ms) * part) - used.count());
  }
  bool isOver(double part = 1) const { return leftMs(part) == 0; }

private:
  int64_t ms;
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
};

} // namespace rondo::pipe

#endif // RONDO_PLANNING_WALLLIMIT_H
