//===- TwoChunks.h - The best cut into two stages per rank ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dynamic programming over the ranks, each with its stages of both chunks at
// once: the state is the number of layers taken for each chunk. In a V, the
// second chunk is taken from the end of the model backwards. In a loop, it is
// taken forwards, from every layer that may be its first.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PARTITION_TWOCHUNKS_H
#define RONDO_SCHEDULE_PARTITION_TWOCHUNKS_H

#include "schedule/partition/Layers.h"

#include <optional>

namespace rondo::partition {

class TwoChunks {
public:
  /// nullopt unless every rank has two stages, in a loop or in a V.
  static std::optional<TwoChunks> of(const PartitionInput &input,
                                     const Layers &layers);

  struct Answer {
    /// The cut within the limit whose busiest rank has the least work; among
    /// such cuts, one with even stages.
    std::optional<Partition> best;
    /// False if `maxSteps` was reached.
    bool isExact = true;
  };
  /// Tries at most `maxSteps` assignments of layers to one rank. `limit` is the
  /// work of the busiest rank in ns.
  Answer run(int64_t limit, int64_t maxSteps);

private:
  /// Layers taken for the first and the second chunk by the ranks so far.
  struct Cut {
    int32_t first = 0, second = 0;
    int32_t parent = -1;
    int64_t busiest = 0;
    double squares = 0;
  };
  enum class Aim { LeastBusiest, MostEven };
  static bool isBetter(const Cut &a, const Cut &b, Aim aim) {
    return aim == Aim::LeastBusiest ? a.busiest < b.busiest
                                    : a.squares < b.squares;
  }

  TwoChunks(const PartitionInput &input, const Layers &layers, bool isV);
  /// `middle` is the first layer of the second chunk; unused in a V.
  bool runFrom(int32_t middle, int64_t limit, Aim aim);
  /// Layers for the rank at `place`, after the cut number `parent`.
  struct Step {
    int32_t parent, place, middle;
    int64_t limit;
    Aim aim;
  };
  void extend(const Cut &cut, const Step &step, std::vector<Cut> &next);
  void keep(const Cut &cut, Aim aim, std::vector<Cut> &next);
  /// Finds the cut with the least work, or the most even one, over all middles.
  void runAll(int64_t limit, Aim aim);
  Partition partitionOf(const Cut &last, int32_t middle) const;

  const PartitionInput &input;
  const Layers &layers;
  bool isV;
  int32_t ranks;
  /// [position in the first chunk]: share() per ns of this rank and all after
  /// it.
  std::vector<double> capacityFrom;
  /// [number of ranks so far]: their cuts.
  std::vector<std::vector<Cut>> cuts;
  /// [layers of the first chunk, layers of the second]: the cut's position,
  /// valid if turnOf is the current `turn`.
  std::vector<int32_t> placeOf, turnOf;
  int32_t turn = 0;
  int64_t stepsLeft = 0;
  std::optional<Partition> best;
  double bestSquares = 0;
};

} // namespace rondo::partition

#endif // RONDO_SCHEDULE_PARTITION_TWOCHUNKS_H
