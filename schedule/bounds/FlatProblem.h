//===- FlatProblem.h - A problem flattened for search -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any graph of stages, each on one rank; only F takes memory, and R, which has
// no letter: it is part of I. Costs are in flat arrays by stage. Letters are 0,
// 1 and 2 for F, I and W. Stages are numbered
// so that F goes to later ones and I to earlier ones.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_FLATPROBLEM_H
#define RONDO_SCHEDULE_BOUNDS_FLATPROBLEM_H

#include "schedule/EdgeTable.h"
#include "schedule/Network.h"

#include <array>
#include <optional>
#include <vector>

namespace rondo {

/// All F of a micro-batch lead to one stage, whose I leads to all I. So a rank
/// holds everything of a micro-batch from its last F to its first I. True for a
/// chain. O(edges).
bool isSingleEnded(const Problem &problem);

/// How a flat problem counts the backward.
enum class BackwardCosts : uint8_t {
  /// I and W apart, as a split schedule runs them.
  Split,
  /// I has B's time and bytes, W nothing: every backward is fused.
  Fused,
  /// At each point the cheaper of both, and nothing for R: what a lower bound
  /// may assume.
  Least,
};

struct FlatProblem {
  int32_t ranks = 0, stages = 0, microbatches = 0;
  std::vector<int32_t> rankOf;
  /// By rank, ascending.
  std::vector<std::vector<int32_t>> stagesOf;
  /// Time of F, I and W by stage.
  std::array<std::vector<int64_t>, 3> ns;
  /// By stage: whether R is in front of each backward. Then the flat problem
  /// is stricter than the problem: what fits one fits the other, and takes no
  /// longer there.
  std::vector<bool> recomputes;
  bool hasRecomputation = false;
  /// By stage: bytes that F takes, and that I and W give back.
  std::vector<int64_t> takes, inputGradFrees, weightGradFrees;
  std::vector<int64_t> caps;
  /// What an edge carries: of F (letter 0) or I. `link` is a number of the
  /// directed pair of ranks, -1 on one rank.
  struct Message {
    int32_t from = 0, to = 0, letter = 0;
    int32_t link = -1;
    int64_t occupancyNs = 0, latencyNs = 0;
    /// The link carries messages of several tasks, so that which task's go
    /// first is a choice. Those of one stage and letter are served in order.
    bool isContended = false;
    /// A task's messages on one link are a burst: they go one after another, in
    /// the order of the edges. -1: there is none.
    int32_t previousInBurst = -1, nextInBurst = -1;

    int64_t transferNs() const { return occupancyNs + latencyNs; }
    bool beginsBurst() const { return previousInBurst < 0; }
  };
  /// By edge, as in the problem.
  std::vector<Message> messages;
  /// Edges that a stage's F (letter 0) or I needs, and those that it makes, in
  /// their order.
  EdgeRange inputs(int letter, int32_t stage) const {
    return in.of(letter * stages + stage);
  }
  EdgeRange outputs(int letter, int32_t stage) const {
    return out.of(letter * stages + stage);
  }
  /// The edges of each link: those of F by ascending, then those of I by
  /// descending producers. So what must go first comes first.
  std::vector<std::vector<int32_t>> edgesOf;
  int32_t links = 0;
  /// The ranks of each link, and the cards that it crosses. Only the Timer uses
  /// cards: to bounds and to all other parts of the search, links of different
  /// ranks are independent, so that what they prove holds with cards too.
  LinkTable linkTable;
  int32_t cards = 0;
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

  /// Problem::isChain().
  bool isChain = false;
  /// rondo::isSingleEnded(), which holds in both directions of time.
  bool isSingleEnded = false;
  /// Some burst of a contended link has several messages.
  bool hasLongBursts = false;

  /// Whether in every schedule a task of a micro-batch ends before another one
  /// of it starts. Letters are 0 or 1, and the first is not above the second.
  /// In a graph of more than `mostRelated` stages some such pairs may be
  /// missed.
  bool leadsTo(int letter, int32_t stage, int otherLetter,
               int32_t other) const {
    if (isChain)
      return letter != otherLetter ||
             (letter == 0 ? stage < other : stage > other);
    return (letter != otherLetter && isSingleEnded) ||
           (!reached.empty() && reached[taskAt(letter, stage) * 2 * stages +
                                        taskAt(otherLetter, other)]);
  }
  static constexpr int32_t mostRelated = 512;
  /// Whether the message of an edge is always sent before that of another edge
  /// of its link with the same micro-batch. `other` must come after it in
  /// edgesOf.
  bool goesBefore(int32_t edge, int32_t other) const;

  int64_t tasks() const { return int64_t(3) * stages * microbatches; }
  int64_t at(int32_t stage, int32_t microbatch) const {
    return int64_t(stage) * microbatches + microbatch;
  }
  /// For a message.
  int64_t messageAt(int32_t edge, int64_t microbatch) const {
    return int64_t(edge) * microbatches + microbatch;
  }

  /// When F of each stage, then I from the last stage back, would start for a
  /// micro-batch that is alone. The problem is a chain. O(stages).
  std::vector<int64_t> startsInChain() const;

  /// nullopt if a task other than F and R takes memory, or if a stage deals
  /// micro-batches to its homes.
  static std::optional<FlatProblem> of(const Problem &problem,
                                       BackwardCosts costs);
  /// Reverses time: I is the first letter and F the second, and the edges lead
  /// back. Stages keep their numbers. Bytes and offsets stay.
  void reverse();

private:
  /// A list of edges for each letter and stage, in one array.
  struct Lists {
    std::vector<int32_t> begin, edges;

    EdgeRange of(int64_t row) const {
      return {edges.data() + begin[row], edges.data() + begin[row + 1]};
    }
  };

  int64_t taskAt(int letter, int32_t stage) const {
    return int64_t(letter) * stages + stage;
  }
  void setBackward(const Problem &problem, int32_t stage, BackwardCosts costs);
  void addRecomputation(const Problem &problem, BackwardCosts costs);
  void setMessages(const Problem &problem);
  void listEdges();
  void orderLinks();
  void relate();
  void setOffsets();

  Lists in, out;
  /// [taskAt() * 2 * stages + taskAt()]; empty for a chain.
  std::vector<bool> reached;
};

/// No schedule from a state may reach the end, or no value is known.
inline constexpr int64_t never = int64_t(1) << 62;

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_FLATPROBLEM_H
