//===- tuner.h - When to switch to another schedule -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_ADAPTIVE_TUNER_H
#define RONDO_RUNTIME_ADAPTIVE_TUNER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo::runtime {

struct TunerOptions {
  /// Iterations between two decisions.
  int64_t every = 5;
  /// A switch must shorten the iteration by at least this part of it.
  double leastGain = 0.02;
  /// Iterations for which a schedule stays at least, once it runs.
  int64_t dwell = 5;
};

/// Chooses among schedules by their estimated times. The gain that it asks for
/// keeps it from changing between schedules that are equally good, and the
/// dwell from following every disturbance.
class Tuner {
public:
  explicit Tuner(const TunerOptions &options) : options(options) {}

  /// The schedule to run next, given that `current` runs since `since` and the
  /// estimated ns of each; those of 0 or less are not considered. `iteration`
  /// is the one that has just ended.
  size_t choose(const std::vector<int64_t> &estimates, size_t current,
                int64_t since, int64_t iteration) const;

private:
  const TunerOptions options;
};

inline size_t Tuner::choose(const std::vector<int64_t> &estimates,
                            size_t current, int64_t since,
                            int64_t iteration) const {
  if (iteration - since + 1 < options.dwell || estimates[current] <= 0)
    return current;
  size_t best = current;
  for (size_t c = 0; c < estimates.size(); ++c)
    if (estimates[c] > 0 && estimates[c] < estimates[best])
      best = c;
  const double enough =
      static_cast<double>(estimates[current]) * (1 - options.leastGain);
  return static_cast<double>(estimates[best]) <= enough ? best : current;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ADAPTIVE_TUNER_H
