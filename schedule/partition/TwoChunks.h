//===- TwoChunks.h - The best cut into two stages per rank ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With two stages per rank, the ranks are visited one by one, each with its
// stage of either chunk: a cut so far is how many layers of each chunk are
// taken. In a V the second chunk is taken from the end of the model backwards;
// in a loop it is taken forwards from every layer that may be its first.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PARTITION_TWOCHUNKS_H
#define RONDO_SCHEDULE_PARTITION_TWOCHUNKS_H

#include "schedule/partition/Layers.h"

#include <optional>

namespace rondo::partition {

class TwoChunks {
public:
  /// Nothing unless every rank has two stages, in a loop or in a V.
  static std::optional<TwoChunks> of(const PartitionInput &input,
                                     const Layers &layers);

  struct Answer {
    /// The cut whose busiest rank has the least work, within the limit; of
    /// several, one with even stages.
    std::optional<Partition> best;
    /// Nothing was left out.
    bool isExact = true;
  };
  /// Tries up to `maxSteps` ways to give one rank its layers.
  Answer run(int64_t limit, int64_t maxSteps);

private:
  /// A cut of the layers of the ranks so far.
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
  /// Where the second chunk begins; unused in a V.
  bool runFrom(int32_t middle, int64_t limit, Aim aim);
  void extend(const Cut &cut, int32_t parent, int32_t place, int32_t middle,
              int64_t limit, Aim aim, std::vector<Cut> &next);
  void keep(const Cut &cut, Aim aim, std::vector<Cut> &next);
  /// Takes the cut with the least work, or the most even one, over all middles.
  void runAll(int64_t limit, Aim aim);
  Partition partitionOf(const Cut &last, int32_t middle) const;

  const PartitionInput &input;
  const Layers &layers;
  bool isV;
  int32_t ranks;
  /// By position in the order of the first chunk: what this rank and all after
  /// it can do in a nanosecond.
  std::vector<double> capacityFrom;
  /// By position: the cuts after it.
  std::vector<std::vector<Cut>> cuts;
  /// By layers of the first and second chunk: where the cut is, if it belongs
  /// to this turn.
  std::vector<int32_t> placeOf, turnOf;
  int32_t turn = 0;
  int64_t stepsLeft = 0;
  std::optional<Partition> best;
  double bestSquares = 0;
};

} // namespace rondo::partition

#endif // RONDO_SCHEDULE_PARTITION_TWOCHUNKS_H
