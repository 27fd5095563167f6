//===- FlatProblem.h - A problem flattened for search -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A problem as flat arrays by stage, for any graph of stages that are on one
// rank each. Only F and R take memory. R (recomputation) is part of I. Stages
// are numbered so that F edges lead to later stages and I edges to earlier
// ones.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PARTIAL_FLATPROBLEM_H
#define RONDO_SCHEDULE_PARTIAL_FLATPROBLEM_H

#include "schedule/model/EdgeTable.h"
#include "schedule/model/Infinity.h"
#include "schedule/model/Task.h"
#include "schedule/simulate/Network.h"

#include <optional>
#include <vector>

namespace rondo {

/// Whether all F of a micro-batch lead to one stage whose I leads to all I.
/// Then a rank holds everything of a micro-batch from its last F to its first
/// I. True for a chain. O(edges).
bool isSingleEnded(const Problem &problem);

/// Backward costs of a flat problem.
enum class BackwardCosts : uint8_t {
  /// I and W are separate, as in a split schedule.
  Split,
  /// I has B's time and bytes and W has none: every backward is fused.
  Fused,
  /// The more favourable of Split and Fused in each figure, and no time for R:
  /// gives valid lower bounds.
  Least,
};

struct FlatProblem {
  int32_t ranks = 0, stages = 0, microbatches = 0;
  std::vector<int32_t> rankOf;
  /// [rank]: its stages, ascending.
  std::vector<std::vector<int32_t>> stagesOf;
  /// [task][stage]: time in ns.
  PerTask<std::vector<int64_t>> ns;
  /// [stage]: whether R runs before each backward.
  std::vector<bool> recomputes;
  bool hasRecomputation = false;
  /// Whether I or B of any stage takes bytes.
  bool takesLater = false;
  /// Except under BackwardCosts::Least, the flat problem is stricter than the
  /// problem if stages recompute or I or B takes bytes: a schedule that fits
  /// the flat one fits the problem and takes no longer there, but not the
  /// other way round. Then exhausting its schedules proves nothing.
  bool isStricter = false;
  /// [stage]: bytes that F takes, and that I and W release, without the bytes
  /// that I takes itself.
  std::vector<int64_t> takes, inputGradFrees, weightGradFrees;
  /// [rank]: the problem's caps minus the bytes that R, I or B holds only while
  /// it runs.
  std::vector<int64_t> caps;
  /// The messages of an edge, from and to `task`, which is F or I. `link`:
  /// number of the directed pair of ranks; -1 on one rank.
  struct Message {
    Task task = Task::F;
    int32_t from = 0, to = 0;
    int32_t link = -1;
    int64_t occupancyNs = 0, latencyNs = 0;
    /// The link carries messages of several tasks, so their order is a choice.
    /// Messages of one stage and task are sent in order.
    bool isContended = false;
    /// Neighbours in the burst, which holds a task's messages on one link in
    /// the order of the edges. -1: none.
    int32_t previousInBurst = -1, nextInBurst = -1;

    int64_t transferNs() const { return occupancyNs + latencyNs; }
    bool beginsBurst() const { return previousInBurst < 0; }
  };
  /// [edge], as in the problem.
  std::vector<Message> messages;
  /// Edges that F or I of a stage reads, and edges that
  /// it writes, in their order.
  EdgeRange inputs(Task task, int32_t stage) const {
    return in.of(codeOf(task, stage));
  }
  EdgeRange outputs(Task task, int32_t stage) const {
    return out.of(codeOf(task, stage));
  }
  /// [link]: edges of F by ascending producer, then edges of I by descending
  /// producer. An edge that must go first comes first.
  std::vector<std::vector<int32_t>> edgesOf;
  int32_t links = 0;
  /// The ranks of each link, and the NICs that it crosses. Only the Timer uses
  /// the NICs. The bounds and the rest of the search treat links of different
  /// ranks as independent; their lower bounds also hold with NICs.
  LinkTable linkTable;
  int32_t nics = 0;
  bool hasSerialLinks = false;
  bool hasContendedLinks = false;
  /// Some cap is below the bytes of all activations of its rank.
  bool hasTightMemory = false;
  /// [rank]: offset in ns. The objective is the maximum over ranks of
  /// end + offset: 0 for the makespan, minus the first start for the span.
  std::vector<int64_t> endOffset;
  /// False if a rank's first start depends on the schedule; the offsets are
  /// then estimates.
  bool offsetsAreExact = true;

  /// Problem::isChain().
  bool isChain = false;
  /// rondo::isSingleEnded(); reverse() does not change it.
  bool isSingleEnded = false;
  /// Some burst on a contended link has several messages.
  bool hasLongBursts = false;

  /// Whether in every schedule a task of a micro-batch ends before another task
  /// of the same micro-batch starts. Both are F or I, and `task` is not I if
  /// `otherTask` is F. In a graph of more than `maxRelated` stages the answer
  /// may be false for some such pairs.
  bool leadsTo(Task task, int32_t stage, Task otherTask, int32_t other) const {
    if (isChain)
      return task != otherTask ||
             (task == Task::F ? stage < other : stage > other);
    return (task != otherTask && isSingleEnded) ||
           (!reached.empty() && reached[codeOf(task, stage) * numCodes(stages) +
                                        codeOf(otherTask, other)]);
  }
  static constexpr int32_t maxRelated = 512;
  /// Whether the message of an edge is always sent before that of another edge
  /// of its link with the same micro-batch. `other` must come after it in
  /// edgesOf.
  bool goesBefore(int32_t edge, int32_t other) const;

  /// Time of F, I and W of a stage for one micro-batch, in ns.
  int64_t workOf(int32_t stage) const {
    return ns[Task::F][stage] + ns[Task::I][stage] + ns[Task::W][stage];
  }
  /// Bytes that I or W of a stage frees.
  int64_t freedBy(Task task, int32_t stage) const {
    return task == Task::I ? inputGradFrees[stage] : weightGradFrees[stage];
  }
  int64_t tasks() const { return int64_t(numCodes(stages)) * microbatches; }
  int64_t at(int32_t stage, int32_t microbatch) const {
    return int64_t(stage) * microbatches + microbatch;
  }
  /// Index of a task in tables of all tasks.
  int64_t at(Task task, int32_t stage, int32_t microbatch) const {
    return int64_t(codeOf(task, stage)) * microbatches + microbatch;
  }
  /// Index of a message.
  int64_t messageAt(int32_t edge, int64_t microbatch) const {
    return int64_t(edge) * microbatches + microbatch;
  }

  /// Starts of F of each stage, then of I from the last stage back, for a
  /// micro-batch that runs alone. The problem must be a chain. O(stages).
  std::vector<int64_t> startsInChain() const;

  /// nullopt if F releases bytes, W takes some, a stage is round-robin, several
  /// stages recompute as one segment, or a stricter flat problem has no memory
  /// for a single micro-batch.
  static std::optional<FlatProblem> of(const Problem &problem,
                                       BackwardCosts costs);
  /// Reverses time: swaps the times of F and I, and the direction of all edges.
  /// Stages keep their numbers. Bytes and offsets are unchanged.
  void reverse();

private:
  /// [code]: a list of edges, all in one array.
  struct Lists {
    std::vector<int32_t> begin, edges;

    EdgeRange of(Code code) const {
      return {edges.data() + begin[code], edges.data() + begin[code + 1]};
    }
  };

  /// [rank]: the maximum bytes that a task holds only while it runs.
  std::vector<int64_t> besideBackward;
  bool fitsOneMicrobatch() const;
  void setBackward(const Problem &problem, int32_t stage, BackwardCosts costs);
  void addRecomputation(const Problem &problem, BackwardCosts costs);
  void setMessages(const Problem &problem);
  void listEdges();
  void orderLinks();
  void relate();
  void setOffsets();

  Lists in, out;
  /// [code * numCodes() + code]; empty for a chain.
  std::vector<bool> reached;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_PARTIAL_FLATPROBLEM_H
