//===- Propagation.h - Earliest and latest times of tasks -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What remains of a schedule, from any point in it: the earliest start of every
// remaining task, and a bound of the objective from these. The bounds use it on
// the empty schedule, the search on partial ones.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PARTIAL_PROPAGATION_H
#define RONDO_SCHEDULE_PARTIAL_PROPAGATION_H

#include "schedule/partial/CapOrder.h"
#include "schedule/partial/FlatProblem.h"
#include "schedule/partial/PreemptiveBound.h"
#include "schedule/partial/Tails.h"

#include <algorithm>
#include <vector>

namespace rondo {

/// A prefix of every rank's order, run as early as possible. Each stage and
/// letter serves its micro-batches in order. Messages go as they become ready;
/// if a state `holdsMessages`, those of contended links wait for send(). All
/// numbers are in one array, so that a state is copied by one block move.
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
  /// How many tasks of a letter a stage has run.
  int64_t &done(int letter, int32_t stage) {
    return data[doneBegin + letter * stages + stage];
  }
  int64_t done(int letter, int32_t stage) const {
    return data[doneBegin + letter * stages + stage];
  }
  /// The same, [letter * stages + stage].
  const int64_t *done() const { return &data[doneBegin]; }
  /// How many messages of an edge have got their link.
  int64_t &sent(int32_t edge) { return data[sentBegin + edge]; }
  int64_t sent(int32_t edge) const { return data[sentBegin + edge]; }
  /// 1 if F of the stage waits for another stage's F on its rank.
  int64_t &banned(int32_t stage) { return data[bannedBegin + stage]; }
  int64_t banned(int32_t stage) const { return data[bannedBegin + stage]; }
  /// When the message of an edge and a micro-batch has arrived, or its
  /// producer's end if it has not been sent; 0 if that has not run, or the
  /// message is used up.
  int64_t &arrival(int32_t edge, int64_t k) {
    return data[arrivalBegin + int64_t(edge) * microbatches + k];
  }
  int64_t arrival(int32_t edge, int64_t k) const {
    return data[arrivalBegin + int64_t(edge) * microbatches + k];
  }
  /// When everything that the next task of a letter and stage needs has
  /// arrived, apart from its rank; `never` if something has not been made. 0 if
  /// it needs nothing.
  int64_t ready(const FlatProblem &flat, int letter, int32_t stage) const {
    const int64_t k = done(letter, stage);
    if (letter > 0 && k >= done(letter - 1, stage))
      return never;
    int64_t time = 0;
    if (letter < 2)
      for (int32_t e : flat.inputs(letter, stage)) {
        if (k >= sent(e))
          return never;
        time = std::max(time, arrival(e, k));
      }
    return time;
  }

  /// Earliest start of the next task of a stage and letter, or `never` if
  /// something that it needs has not been started.
  int64_t earliest(const FlatProblem &flat, int letter, int32_t stage) const;
  /// What is in flight, starting with the oldest micro-batch that lacks an F,
  /// is held until all its F have run, and must fit beside what these take.
  /// Running the micro-batches one by one needs no more, so no rank can reach a
  /// state from which the caps allow no way on. If the graph has several ends,
  /// a rank may give back part of a micro-batch earlier.
  struct InFlight {
    int64_t oldest = 0;
    /// Of those in flight and of the rest of the oldest one. 0 if a rank always
    /// finds a way on.
    int64_t bytes = 0;
  };
  /// `letter` is the one that takes memory. The result holds until it runs on
  /// the rank. O(stages of the rank).
  InFlight inFlight(const FlatProblem &flat, int32_t rank, int letter) const;
  /// Whether the next F of the stage keeps the cap, and every micro-batch in
  /// flight can still be finished after it, as it can now.
  bool fits(const FlatProblem &flat, const InFlight &inFlight, int32_t stage,
            int letter) const {
    const int32_t rank = flat.rankOf[stage];
    const int64_t cap = flat.caps[rank], takes = flat.takes[stage];
    if (held(rank) > cap - takes || inFlight.bytes > cap)
      return false;
    return inFlight.bytes == 0 || done(letter, stage) == inFlight.oldest ||
           inFlight.bytes + takes <= cap;
  }
  bool fits(const FlatProblem &flat, int32_t stage, int letter = 0) const {
    return fits(flat, inFlight(flat, flat.rankOf[stage], letter), stage,
                letter);
  }
  /// Runs the next task of a stage and letter at `start`; returns its end.
  int64_t run(const FlatProblem &flat, int letter, int32_t stage,
              int64_t start);
  /// Earliest time at which the next message of an edge that begins a burst can
  /// get its link; `never` if none is held.
  int64_t earliestSend(const FlatProblem &flat, int32_t edge) const;
  /// Gives the link to that burst.
  void send(const FlatProblem &flat, int32_t edge);
  /// Hash of counts: only states with equal counts can be compared.
  uint64_t key() const;
  /// For equal counts: nothing in this state is later than in `other`, and
  /// nothing waits that does not wait there.
  bool dominates(const FlatProblem &flat, const PartialState &other) const;

  std::vector<int64_t> data;

private:
  void sendOne(const FlatProblem &flat, int32_t edge);

  int32_t ranks = 0, stages = 0, microbatches = 0;
  int64_t linkBegin = 0, doneBegin = 0, sentBegin = 0, bannedBegin = 0,
          arrivalBegin = 0;
  bool holdsMessages = false;
};

/// A bound with a finer sum to order states with the same bound.
struct Estimate {
  int64_t bound = 0;
  int64_t sum = 0;
};

/// Computes estimates without allocating. Not thread-safe.
class Propagation {
public:
  Propagation(const FlatProblem &flat, bool withMemory);
  Propagation(Propagation &&) = default;

  /// No way to finish the state has a smaller objective; `never` if that is at
  /// least `ceiling`, or there is no way. O(tasks left * stages of a rank).
  Estimate estimate(const PartialState &state, int64_t ceiling = never);
  /// Earliest starts of the last estimate, [letter][FlatProblem::at()].
  const std::vector<int64_t> &heads(int letter) const { return head[letter]; }
  const std::vector<int64_t> &tails(int letter) const {
    return tail.ns[letter];
  }

  /// Delays clocks, arrivals and links of the last estimate's state to the
  /// earliest time at which anything can use them. Loses no way on, and makes
  /// more states comparable.
  void tighten(PartialState &state) const;

private:
  /// A piece of a list, [begin, end).
  struct Part {
    int32_t begin = 0, end = 0;
  };
  /// F or I of a stage, and where a state is in it: all that a head needs, in
  /// one place.
  struct Row {
    int32_t rank = 0;
    int64_t ns = 0;
    /// By micro-batch.
    int64_t *heads = nullptr;
    const int64_t *tails = nullptr;
    /// Of the lists of these names.
    Part before, inputs, serialOutputs;
    /// Of the state: how many have run, and the rank's clock.
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
  void listTasksBefore(Row &row, int letter, int32_t s);
  void listInputs(Row &row, int letter, int32_t s);
  void listReleases();
  void startRows(const PartialState &state);
  void startCursors(const PartialState &state);
  struct Need {
    /// And not before this.
    int64_t bytes, start;
  };
  Need needOf(const PartialState &state, int32_t s, int32_t k);
  int64_t releaseTime(const PartialState &state, int32_t s, int32_t k);
  int64_t jacksonOfRank(const PartialState &state, int32_t rank);
  int64_t jacksonOfLink(const PartialState &state, int32_t link);

  const FlatProblem &flat;
  const bool withMemory;
  /// By rank; empty without memory.
  std::vector<CapOrder> capOrders;
  Tails tail;
  std::array<std::vector<int64_t>, 3> head;
  /// Earliest time at which a message gets its link,
  /// [FlatProblem::messageAt()]; only if it occupies the link.
  std::vector<int64_t> messageStart;
  /// Position of each stage among those of its rank.
  std::vector<int32_t> place;
  /// By letter, F or I, and stage.
  std::array<std::vector<Row>, 2> rows;
  /// Of a chain, by rank: the work of the tasks that workBefore() has seen for
  /// this micro-batch, which all run before the next one.
  std::vector<int64_t> workSeen;
  /// Of other graphs: a task that always runs before another one of its rank
  /// and micro-batch.
  struct Before {
    /// [letter * stages + stage].
    int32_t task;
    int64_t ns;
  };
  std::vector<Before> before;
  /// An edge that a task needs: it can have arrived at starts[k] + delay, its
  /// message's time to get a link or its producer's start. `from` is the task
  /// that makes it, [letter * stages + stage], if the message takes no time on
  /// its link, else -1.
  struct Input {
    int32_t edge, from;
    const int64_t *starts;
    int64_t delay, latencyNs;
  };
  std::vector<Input> inputs;
  /// Edges whose messages occupy their link.
  std::vector<int32_t> serialOutputs;
  /// I or W of a stage, by its place on its rank, that gives bytes back.
  struct Release {
    int32_t place;
    int letter;
    int64_t bytes, ns;
    /// Earliest starts by micro-batch.
    const int64_t *heads;
  };
  /// By rank.
  std::vector<std::vector<Release>> releases;
  /// Of releaseTime(), by stage: its part of `nextReleases`, which holds the
  /// next micro-batch of each release of its rank; and what has been passed.
  struct Cursor {
    int32_t begin = 0;
    int64_t freed = 0, time = 0;
  };
  std::vector<Cursor> cursors;
  std::vector<int32_t> nextReleases;
  /// Scratch of releaseTime(), by position: how many micro-batches of a stage
  /// can have given bytes back.
  std::vector<int64_t> limits;
  /// Scratch: tasks of a rank, or messages of a link.
  Lanes lanes;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_PARTIAL_PROPAGATION_H
