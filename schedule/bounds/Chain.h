//===- Chain.h - A problem flattened for bounds and search ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stage s feeds s+1, each on one rank; only F takes memory. Costs stand in flat
// arrays by stage. Letters are 0, 1 and 2 for F, I and W.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_CHAIN_H
#define RONDO_SCHEDULE_BOUNDS_CHAIN_H

#include "schedule/Problem.h"

#include <array>
#include <optional>
#include <vector>

namespace rondo {

/// How a chain counts the backward.
enum class BackwardCosts : uint8_t {
  /// I and W apart, as a split schedule runs them.
  Split,
  /// I has B's time and bytes, W nothing: every backward is fused.
  Fused,
  /// At each point the cheaper of both: what a lower bound may assume.
  Least,
};

struct Chain {
  int32_t ranks = 0, stages = 0, microbatches = 0;
  std::vector<int32_t> rankOf;
  /// By rank, in pipeline order.
  std::vector<std::vector<int32_t>> stagesOf;
  /// Time of F, I and W by stage.
  std::array<std::vector<int64_t>, 3> ns;
  /// By stage: bytes that F takes, and that I and W give back.
  std::vector<int64_t> takes, inputGradFrees, weightGradFrees;
  std::vector<int64_t> caps;
  /// The message of F to the next stage, and of I to the one before, by the
  /// producing stage. `link` is a number of the directed rank pair, -1 on one
  /// rank.
  struct Message {
    int32_t link = -1;
    int64_t occupancyNs = 0, latencyNs = 0;
    /// The link is busy with messages of several producing tasks, so that which
    /// goes first is a choice. Messages of one are served in order.
    bool isContended = false;
    int64_t transferNs() const { return occupancyNs + latencyNs; }
  };
  std::array<std::vector<Message>, 2> messages;
  /// The producers of each link's messages, in the order in which one
  /// micro-batch sends them.
  struct Producer {
    int letter;
    int32_t stage;
  };
  std::vector<std::vector<Producer>> producersOf;
  int32_t links = 0;
  bool hasSerialLinks = false;
  bool hasContendedLinks = false;
  /// Some cap is below what all activations of its rank take.
  bool hasTightMemory = false;
  /// The objective is the largest (end of a rank + its offset): 0 for the
  /// makespan, minus the first start for the span.
  std::vector<int64_t> endOffset;
  /// False where the first start of a rank depends on the schedule, so that
  /// the offsets are only a guess.
  bool offsetsAreExact = true;

  int64_t tasks() const { return int64_t(3) * stages * microbatches; }
  int64_t at(int32_t stage, int32_t microbatch) const {
    return int64_t(stage) * microbatches + microbatch;
  }

  /// nullopt where the problem is no chain: other edges, or a task other than F
  /// that takes memory.
  static std::optional<Chain> of(const Problem &problem, BackwardCosts costs);
};

/// No schedule from a state may reach the end, or no value is known.
inline constexpr int64_t never = int64_t(1) << 62;

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_CHAIN_H
