//===- BufferLives.cpp - First and last use of buffers --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/BufferLives.h"

#include "lowering/Positions.h"
#include "schedule/program/ReleasedBuffers.h"

#include <algorithm>
#include <tuple>
#include <utility>

using namespace rondo;

void BufferLives::addLife(Lives &lives, int32_t buffer, int64_t index,
                          int64_t first, int64_t last) const {
  // A schedule may run the forwards of a replica in any order, so `last`, which
  // addForward() takes from a later micro-batch, may precede `first`.
  if (sizes[buffer].bytes != 0)
    lives.push_back(
        {buffer, static_cast<int32_t>(index), first, std::max(first, last)});
}

/// Position of the last action after a send for which the send's buffer is
/// still in use: the last one that the simulation starts no later than the
/// send's end. An action that starts at the same instant may be what lets the
/// send end, on another rank. Waits for sends that ended strictly earlier
/// cannot close a cycle.
int64_t BufferLives::sendReleased(int32_t rank, int64_t sendPosition) const {
  int64_t begin = program.order.rankBegin(rank);
  int64_t numActions = program.order.rank(rank).size();
  if (!simulation.complete)
    return numActions - 1;
  if (!hostActions.empty()) {
    const HostActions &host = hostActions[rank];
    const auto later =
        std::upper_bound(host.startNs.begin(), host.startNs.end(),
                         simulation.endNs[begin + sendPosition]);
    return std::max(sendPosition,
                    later == host.startNs.begin()
                        ? sendPosition
                        : host.positions[later - host.startNs.begin() - 1]);
  }
  // Starts never decrease along a rank.
  auto starts = simulation.startNs.begin() + begin;
  auto later = std::upper_bound(starts + sendPosition + 1, starts + numActions,
                                simulation.endNs[begin + sendPosition]);
  return later - starts - 1;
}

/// The actions of each rank's host, without copies, which run on lanes of their
/// own.
void BufferLives::findHostActions() {
  if (!program.order.hasCopies() || !simulation.complete)
    return;
  hostActions.resize(program.order.numRanks());
  for (int32_t r = 0; r < program.order.numRanks(); ++r)
    for (int64_t i = 0; i < program.order.rank(r).size(); ++i) {
      if (program.order.rank(r)[i].traits().isCopy())
        continue;
      hostActions[r].positions.push_back(i);
      hostActions[r].startNs.push_back(
          simulation.startNs[program.order.rankBegin(r) + i]);
    }
}

/// The lives of the buffers that tasks and messages of one executing rank make.
class BufferLives::TaskLives {
public:
  TaskLives(const BufferLives &of, int32_t rank, ActionRange actions,
            int32_t microbatches, Lives &lives)
      : of(of), problem(of.problem), rank(rank), microbatches(microbatches),
        lives(lives), forward(problem.numReplicas(), microbatches),
        inputGrad(forward), weightGrad(forward), recompute(forward),
        save(forward), load(forward), sent(problem.edges.size(), microbatches),
        received(sent) {
    setPositions(actions);
  }

  void addReplica(int32_t replica) {
    for (int64_t i = 0; i < microbatches; ++i) {
      if (forward.of(replica, i) >= 0)
        addForward(replica, i);
      if (inputGrad.of(replica, i) >= 0)
        addInputGrad(replica, i);
    }
  }

private:
  void setPositions(ActionRange actions);
  void addForward(int32_t replica, int64_t i);
  void addOffloaded(int32_t replica, int64_t i);
  void addRecompute(int32_t replica, int64_t i);
  void addInputGrad(int32_t replica, int64_t i);
  void addReceived(EdgeRange parts, int64_t i, int64_t task, int64_t last);
  void add(int32_t replica, BufferKind kind, int64_t i, int64_t first,
           int64_t last) {
    of.addLife(lives, of.numbers.of(replica, kind), i, first, last);
  }
  int64_t inputEnd(int32_t replica, int64_t i) const;
  int64_t lastRead(int32_t e, int64_t i) const;
  int64_t lastRead(EdgeRange parts, int64_t i) const {
    int64_t last = -1;
    for (int32_t e : parts)
      last = std::max(last, lastRead(e, i));
    return last;
  }
  bool isCopied(int32_t e) const {
    const Edge &edge = problem.edges[e];
    return problem.rankOf(edge.from) == rank && !problem.isWhole(edge);
  }

  const BufferLives &of;
  const Problem &problem;
  const int32_t rank, microbatches;
  Lives &lives;
  /// Positions of tasks by replica, and of messages by edge.
  Positions forward, inputGrad, weightGrad, recompute, save, load, sent,
      received;
};

void BufferLives::TaskLives::setPositions(ActionRange actions) {
  for (int64_t k = 0; k < actions.size(); ++k) {
    const Action a = actions[k];
    if (a.kind() == ActionKind::Send)
      sent.set(a.subject, a.index, k);
    else if (a.kind() == ActionKind::Recv)
      received.set(a.subject, a.index, k);
    else if (a.kind() == ActionKind::Save)
      save.set(a.subject, a.index, k);
    else if (a.kind() == ActionKind::Load)
      load.set(a.subject, a.index, k);
    if (!a.isTask())
      continue;
    for (auto [done, tasks] : {std::pair(forwardDone, &forward),
                               std::pair(inputGradDone, &inputGrad),
                               std::pair(weightGradDone, &weightGrad),
                               std::pair(recomputeDone, &recompute)})
      if (a.traits().makes & done)
        tasks->set(a.subject, a.index, k);
  }
}

/// The last task that reads a replica's input.
int64_t BufferLives::TaskLives::inputEnd(int32_t replica, int64_t i) const {
  const bool isReadAgain =
      problem.recomputes(replica) &&
      problem.recomputation[replica] == Recomputation::FromInput;
  return std::max(forward.of(replica, i),
                  isReadAgain ? recompute.of(replica, i) : int64_t(-1));
}

/// The last action that reads an edge's message from the producer's buffer; -1
/// if none does.
int64_t BufferLives::TaskLives::lastRead(int32_t e, int64_t i) const {
  if (const int64_t send = sent.of(e, i); send >= 0)
    return of.sendReleased(rank, send);
  const Edge &edge = problem.edges[e];
  if (problem.rankOf(edge.to) != rank)
    return -1;
  if (edge.producer == ActionKind::InputGrad)
    return inputGrad.of(edge.to, i);
  if (edge.producer == ActionKind::Recompute)
    return recompute.of(edge.to, i);
  return problem.isWhole(edge) ? inputEnd(edge.to, i) : forward.of(edge.to, i);
}

/// Adds the life of each buffer that `parts` are received into. Parts of one
/// stage edge are adjacent and share a buffer. It lives from the first receive
/// into it to `last`; a part from the same rank is copied by `task`, so it
/// counts from `task` on.
void BufferLives::TaskLives::addReceived(EdgeRange parts, int64_t i,
                                         int64_t task, int64_t last) {
  for (auto e = parts.begin(); e != parts.end();) {
    const int32_t buffer = of.numbers.received(*e);
    int64_t first = -1;
    for (; e != parts.end() && of.numbers.received(*e) == buffer; ++e)
      if (const int64_t filled = isCopied(*e) ? task : received.of(*e, i);
          filled >= 0)
        first = first < 0 ? filled : std::min(first, filled);
    if (first >= 0)
      of.addLife(lives, buffer, i, first, last);
  }
}

void BufferLives::TaskLives::addForward(int32_t replica, int64_t i) {
  const int64_t f = forward.of(replica, i), b = inputGrad.of(replica, i),
                w = weightGrad.of(replica, i), r = recompute.of(replica, i);
  add(replica, BufferKind::SavedForInputGrad, i, f, b >= 0 ? b : f);
  add(replica, BufferKind::SavedForWeightGrad, i, f, w >= 0 ? w : f);
  addReceived(of.edges.inputs(replica, ActionKind::Forward), i, f,
              inputEnd(replica, i));
  add(replica, BufferKind::Checkpoints, i, f, std::max(f, r));
  addOffloaded(replica, i);
  if (r >= 0)
    addRecompute(replica, i);
  int64_t last = lastRead(of.edges.outputs(replica, ActionKind::Forward), i);
  // Without backwards, limits how far a rank runs ahead: an output is freed
  // before the forward after the next.
  const int64_t next = i + 2 * of.replicas[replica].turns;
  if (b < 0 && w < 0 && next < microbatches)
    last = std::min(last, forward.of(replica, next) - 1);
  if (last >= 0)
    add(replica, BufferKind::Output, i, f, last);
}

/// Buffers that F saves and that copies may move to the host and back: for I
/// and W, or for R, which begins with the first.
void BufferLives::TaskLives::addOffloaded(int32_t replica, int64_t i) {
  const int64_t f = forward.of(replica, i), s = save.of(replica, i),
                l = load.of(replica, i);
  const bool isAway = s >= 0 && l >= 0;
  if (isAway)
    add(replica, BufferKind::OnHost, i, s, l);
  const bool areCheckpoints = copiesCheckpoints(problem, replica);
  for (auto [offloaded, loaded, readers] :
       {std::tuple(BufferKind::OffloadedForInputGrad,
                   BufferKind::LoadedForInputGrad,
                   areCheckpoints ? &recompute : &inputGrad),
        std::tuple(BufferKind::OffloadedForWeightGrad,
                   BufferKind::LoadedForWeightGrad, &weightGrad)}) {
    const int64_t reader = std::max(f, readers->of(replica, i));
    add(replica, offloaded, i, f, isAway ? s : reader);
    if (isAway)
      add(replica, loaded, i, l, reader);
  }
}

void BufferLives::TaskLives::addRecompute(int32_t replica, int64_t i) {
  const int64_t r = recompute.of(replica, i);
  add(replica, BufferKind::RecomputedForInputGrad, i, r,
      std::max(r, inputGrad.of(replica, i)));
  add(replica, BufferKind::RecomputedForWeightGrad, i, r,
      std::max(r, weightGrad.of(replica, i)));
  addReceived(of.edges.inputs(replica, ActionKind::Recompute), i, r, r);
  const int64_t read =
      lastRead(of.edges.outputs(replica, ActionKind::Recompute), i);
  if (read >= 0)
    add(replica, BufferKind::RecomputedOutput, i, r, read);
}

void BufferLives::TaskLives::addInputGrad(int32_t replica, int64_t i) {
  const int64_t b = inputGrad.of(replica, i);
  addReceived(of.edges.inputs(replica, ActionKind::InputGrad), i, b, b);
  add(replica, BufferKind::KeptForWeightGrad, i, b,
      std::max(b, weightGrad.of(replica, i)));
  const EdgeRange parts = of.edges.outputs(replica, ActionKind::InputGrad);
  for (auto e = parts.begin(); e != parts.end();) {
    const int32_t buffer = of.numbers.sent(*e);
    int64_t last = -1;
    for (; e != parts.end() && of.numbers.sent(*e) == buffer; ++e)
      last = std::max(last, lastRead(*e, i));
    if (last >= 0)
      of.addLife(lives, buffer, i, b, last);
  }
}

/// Finds the lives of all buffers of the first `microbatches` micro-batches.
/// `actions` are their actions on `rank`.
void BufferLives::collectLives(int32_t rank, ActionRange actions,
                               int32_t microbatches, Lives &lives) const {
  TaskLives tasks(*this, rank, actions, microbatches, lives);
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    if (problem.rankOf(replica) == rank)
      tasks.addReplica(replica);
}

/// Collects the lives of gathered weights, and of gradients until their
/// reduction has been awaited.
void BufferLives::collectMovedLives(int32_t rank, Lives &lives) const {
  if (!problem.replicas.areSharded())
    return;
  const ActionRange actions = program.order.rank(rank);
  // [replica]: position at which a buffer of the replica was taken. `gathered`:
  // its gathered weights; `made`: gradients that tasks are adding to;
  // `reduced`: gradients that a reduction in flight reads.
  std::vector<int64_t> gathered(problem.numReplicas(), -1), made = gathered,
                                                            reduced = gathered;
  auto end = [&](std::vector<int64_t> &taken, int32_t replica, BufferKind kind,
                 int64_t unit, int64_t position) {
    addLife(lives, numbers.of(replica, kind), unit, taken[replica], position);
    taken[replica] = -1;
  };
  for (int64_t k = 0; k < actions.size(); ++k) {
    const Action action = actions[k];
    const auto replica = static_cast<int32_t>(action.subject);
    const int64_t unit = action.index;
    if (action.kind() == ActionKind::Await &&
        program.collectives[replica].kind == CollectiveKind::ScatterGradients) {
      for (int32_t member : program.collectives[replica].replicas)
        if (problem.rankOf(member) == rank && reduced[member] >= 0)
          end(reduced, member, BufferKind::UnreducedGradients, unit, k);
      continue;
    }
    if (action.traits().subject != Subject::Replica ||
        !problem.replicas[replica].isSharded())
      continue;
    if (action.traits().makes & weightGradDone && made[replica] < 0)
      made[replica] = k;
    if (action.kind() == ActionKind::Unshard) {
      gathered[replica] = k;
    } else if (action.kind() == ActionKind::Reshard) {
      end(gathered, replica, BufferKind::GatheredWeights, unit, k);
    } else if (action.kind() == ActionKind::ReduceGrad) {
      std::swap(made[replica], reduced[replica]);
      if (problem.isGroupLocal(replica))
        end(reduced, replica, BufferKind::UnreducedGradients, unit, k);
    }
  }
}
