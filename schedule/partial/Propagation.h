//===- Propagation.h - Earliest starts of tasks -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The earliest start of every remaining task of a partial schedule, and a lower
// bound of the objective from these. The bounds use it on the empty schedule,
// the search on partial ones.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PARTIAL_PROPAGATION_H
#define RONDO_SCHEDULE_PARTIAL_PROPAGATION_H

#include "schedule/partial/CapOrder.h"
#include "schedule/partial/FlatProblem.h"
#include "schedule/partial/PreemptiveBound.h"
#include "schedule/partial/Tails.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace rondo {

/// A prefix of every rank's order, run as early as possible. Each stage runs
/// each of its three tasks in the order of micro-batches. Messages are sent as
/// soon as they are ready; in a state that `holdsMessages`, those of contended
/// links wait for send(). All values are in one array, so a state is copied as
/// one block.
class PartialState {
public:
  PartialState() = default;
  explicit PartialState(const FlatProblem &flat, bool holdsMessages = false);

  int64_t &clock(int32_t rank) { return data[rank]; }
  int64_t clock(int32_t rank) const { return data[rank]; }
  int64_t &held(int32_t rank) { return data[ranks + rank]; }
  int64_t held(int32_t rank) const { return data[ranks + rank]; }
  int64_t &linkFree(int32_t link) { return data[linkBegin + link]; }
  int64_t linkFree(int32_t link) const { return data[linkBegin + link]; }
  /// Number of micro-batches for which a stage has run `task`.
  int64_t &done(Task task, int32_t stage) {
    return data[doneBegin + codeOf(task, stage)];
  }
  int64_t done(Task task, int32_t stage) const {
    return data[doneBegin + codeOf(task, stage)];
  }
  /// All counts, [code].
  const int64_t *done() const { return &data[doneBegin]; }
  /// Number of messages of an edge that have got their link.
  int64_t &sent(int32_t edge) { return data[sentBegin + edge]; }
  int64_t sent(int32_t edge) const { return data[sentBegin + edge]; }
  /// 1 if F of the stage must wait for another stage's F on its rank.
  int64_t &banned(int32_t stage) { return data[bannedBegin + stage]; }
  int64_t banned(int32_t stage) const { return data[bannedBegin + stage]; }
  /// Time at which the message of an edge and a micro-batch has arrived, or the
  /// end of its producer if it has not been sent; 0 if the producer has not run
  /// or the consumer has.
  int64_t &arrival(int32_t edge, int64_t k) {
    return data[arrivalBegin + int64_t(edge) * microbatches + k];
  }
  int64_t arrival(int32_t edge, int64_t k) const {
    return data[arrivalBegin + int64_t(edge) * microbatches + k];
  }
  /// Time at which all inputs of a stage's next `task` have arrived, regardless
  /// of its rank; `never` if an input has not been made or sent; 0 without
  /// inputs.
  int64_t ready(const FlatProblem &flat, Task task, int32_t stage) const {
    const int64_t k = done(task, stage);
    if (task != Task::F && k >= done(taskBefore(task), stage))
      return never;
    int64_t time = 0;
    if (task != Task::W)
      for (int32_t e : flat.inputs(task, stage)) {
        if (k >= sent(e))
          return never;
        time = std::max(time, arrival(e, k));
      }
    return time;
  }

  /// Earliest start of a stage's next `task`; `never` if there is none or an
  /// input is missing.
  int64_t earliest(const FlatProblem &flat, Task task, int32_t stage) const;
  /// The micro-batches in flight on a rank, from the oldest one that lacks an
  /// F. Each is held until all its F have run, so it must fit together with the
  /// memory that these take. Running micro-batches one by one needs no more
  /// memory, so a rank never reaches a state that it cannot continue under its
  /// cap. Not computed for a graph with several ends, where a rank may release
  /// part of a micro-batch earlier.
  struct InFlight {
    int64_t oldest = 0;
    /// Bytes of the micro-batches in flight and of the missing F of the oldest
    /// one. 0: the rank can always continue.
    int64_t bytes = 0;
  };
  /// `task` is the one that takes memory. The result is valid until a task of
  /// `task` runs on the rank. O(stages of the rank).
  InFlight inFlight(const FlatProblem &flat, int32_t rank, Task task) const;
  /// Whether the next F of the stage keeps the cap and leaves enough memory to
  /// finish every micro-batch in flight. Precondition: without this F, all of
  /// them can be finished.
  bool fits(const FlatProblem &flat, const InFlight &inFlight, int32_t stage,
            Task task) const {
    const int32_t rank = flat.rankOf[stage];
    const int64_t cap = flat.caps[rank], takes = flat.takes[stage];
    if (held(rank) > cap - takes || inFlight.bytes > cap)
      return false;
    return inFlight.bytes == 0 || done(task, stage) == inFlight.oldest ||
           inFlight.bytes + takes <= cap;
  }
  bool fits(const FlatProblem &flat, int32_t stage, Task task = Task::F) const {
    return fits(flat, inFlight(flat, flat.rankOf[stage], task), stage, task);
  }
  /// Runs a stage's next `task` at `start`; returns its end.
  int64_t run(const FlatProblem &flat, Task task, int32_t stage, int64_t start);
  /// Earliest time at which the next burst of an edge can get its link; `never`
  /// if none is held. The edge must begin a burst.
  int64_t earliestSend(const FlatProblem &flat, int32_t edge) const;
  /// Sends the next burst of an edge, which must begin a burst.
  void send(const FlatProblem &flat, int32_t edge);
  /// Hash of the counts: only states with equal counts can be compared.
  uint64_t key() const;
  /// For equal counts: nothing in this state is later than in `other`, and no F
  /// is banned that is not banned there.
  bool dominates(const FlatProblem &flat, const PartialState &other) const;

  std::vector<int64_t> data;

private:
  void sendOne(const FlatProblem &flat, int32_t edge);

  int32_t ranks = 0, stages = 0, microbatches = 0;
  int64_t linkBegin = 0, doneBegin = 0, sentBegin = 0, bannedBegin = 0,
          arrivalBegin = 0;
  bool holdsMessages = false;
};

/// A lower bound, and the sum of the ranks' bounds, which orders states with
/// the same bound.
struct Estimate {
  int64_t bound = 0;
  int64_t sum = 0;
};

/// Computes estimates without allocating. Not thread-safe.
class Propagation {
public:
  Propagation(const FlatProblem &flat, bool withMemory);
  Propagation(Propagation &&) = default;

  /// Lower bound of the objective over all ways to finish the state; `never` if
  /// it is at least `ceiling` or the state cannot be finished. O(remaining
  /// tasks * stages of a rank).
  Estimate estimate(const PartialState &state, int64_t ceiling = never);
  /// Earliest starts of the last estimate, [task][FlatProblem::at()].
  const std::vector<int64_t> &heads(Task task) const { return head[task]; }
  const std::vector<int64_t> &tails(Task task) const { return tail.ns[task]; }

  /// Raises the clocks, arrivals and free times of links of the last estimate's
  /// state to the earliest time at which anything can use them. Excludes no
  /// schedule, and makes more states comparable.
  void tighten(PartialState &state) const;

private:
  /// A range of a list, [begin, end).
  struct Part {
    int32_t begin = 0, end = 0;
  };
  /// F or I of a stage, and the progress of a state in it: all data that its
  /// earliest starts need, in one place.
  struct Row {
    int32_t rank = 0;
    int64_t ns = 0;
    /// Indexed by micro-batch.
    int64_t *heads = nullptr;
    const int64_t *tails = nullptr;
    /// Ranges of the lists with these names.
    Part before, inputs, serialOutputs;
    /// Copied from the state: the number of tasks that have run, and the rank's
    /// clock.
    int64_t done = 0, clock = 0;
  };
  bool propagate(const PartialState &state, int64_t ceiling);
  int64_t endOfBan(const PartialState &state, int32_t s, int32_t k) const;
  int64_t forwardHead(const PartialState &state, const Row &row, int32_t s,
                      int32_t k);
  int64_t inputGradHead(const PartialState &state, const Row &row, int32_t s,
                        int32_t k);
  void messageHead(const PartialState &state, int32_t edge, int32_t k);
  int64_t workBefore(const PartialState &state, const Row &row, int32_t k);
  int64_t arrivalFor(const PartialState &state, const Row &row,
                     int32_t k) const;
  void listRows();
  void listTasksBefore(Row &row, Task task, int32_t s);
  void listInputs(Row &row, Task task, int32_t s);
  void listReleases();
  void startRows(const PartialState &state);
  void startCursors(const PartialState &state);
  struct Need {
    /// Bytes to be released, and a time before which not all of them can have
    /// been released.
    int64_t bytes, start;
  };
  Need needOf(const PartialState &state, int32_t s, int32_t k);
  int64_t releaseTime(const PartialState &state, int32_t s, int32_t k);
  int64_t jacksonOfRank(const PartialState &state, int32_t rank);
  int64_t jacksonOfLink(const PartialState &state, int32_t link);

  const FlatProblem &flat;
  const bool withMemory;
  /// [rank]; empty if memory is ignored.
  std::vector<CapOrder> capOrders;
  Tails tail;
  PerTask<std::vector<int64_t>> head;
  /// Earliest time at which a message gets its link,
  /// [FlatProblem::messageAt()]; only for messages that occupy the link.
  std::vector<int64_t> messageStart;
  /// [stage]: position among the stages of its rank.
  std::vector<int32_t> place;
  /// [task][stage]; empty for W.
  PerTask<std::vector<Row>> rows;
  /// [rank], for a chain: work of the tasks of the current micro-batch that
  /// workBefore() has seen. All of them run before the next one.
  std::vector<int64_t> workSeen;
  /// For other graphs: a task that always runs before another task of the same
  /// rank and micro-batch.
  struct Before {
    Code code;
    int64_t ns;
  };
  std::vector<Before> before;
  /// An edge that a task reads. Its message arrives no earlier than
  /// starts[k] + delay, where `starts` are the times at which the message gets
  /// its link, or its producer's starts if it takes no time on the link. `from`
  /// is the producer if the message takes no time on the link; nullopt
  /// otherwise.
  struct Input {
    int32_t edge;
    std::optional<Code> from;
    const int64_t *starts;
    int64_t delay, latencyNs;
  };
  std::vector<Input> inputs;
  /// Edges whose messages occupy their link.
  std::vector<int32_t> serialOutputs;
  /// I or W of a stage, by its position on the rank, that releases bytes.
  struct Release {
    int32_t place;
    Task task;
    int64_t bytes, ns;
    /// Earliest starts, indexed by micro-batch.
    const int64_t *heads;
  };
  /// Indexed by rank.
  std::vector<std::vector<Release>> releases;
  /// [stage], for releaseTime(): `begin` of its part of `nextReleases`, which
  /// holds the next micro-batch of each release of its rank; bytes (`freed`)
  /// and latest end (`time`) of the releases so far.
  struct Cursor {
    int32_t begin = 0;
    int64_t freed = 0, time = 0;
  };
  std::vector<Cursor> cursors;
  std::vector<int32_t> nextReleases;
  /// Scratch of releaseTime(), by position on the rank: number of micro-batches
  /// of a stage that can have released bytes.
  std::vector<int64_t> limits;
  /// Scratch: tasks of a rank, or messages of a link.
  PreemptiveBound preemptive;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_PARTIAL_PROPAGATION_H
