//===- BufferLives.cpp - First and last use of buffers --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/BufferLives.h"

#include "lowering/Positions.h"

#include <algorithm>
#include <utility>

using namespace rondo;

void BufferLives::addLife(Lives &lives, int32_t buffer, int64_t index,
                          int64_t first, int64_t last) const {
  // A program with an order of its own may make a replica's outputs in any
  // order: the output after the next may come before this one.
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
  // Starts never decrease along a rank.
  auto starts = simulation.startNs.begin() + begin;
  auto later = std::upper_bound(starts + sendPosition + 1, starts + numActions,
                                simulation.endNs[begin + sendPosition]);
  return later - starts - 1;
}

/// Finds the lives of all buffers of the first `microbatches` micro-batches.
/// `actions` are the actions of these micro-batches on one executing rank.
void BufferLives::collectLives(int32_t rank, ActionRange actions,
                               int32_t microbatches, Lives &lives) const {
  auto table = [&](size_t names) { return Positions(names, microbatches); };
  // Indexed by replica; the next two by edge.
  Positions forward = table(problem.numReplicas()),
            inputGrad = table(problem.numReplicas()),
            weightGrad = table(problem.numReplicas()),
            recompute = table(problem.numReplicas());
  Positions sent = table(problem.edges.size()),
            received = table(problem.edges.size());
  for (int64_t k = 0; k < actions.size(); ++k) {
    Action a = actions[k];
    if (a.kind() == ActionKind::Send)
      sent.set(a.subject, a.index, k);
    else if (a.kind() == ActionKind::Recv)
      received.set(a.subject, a.index, k);
    if (!a.isTask())
      continue;
    for (auto [done, tasks] : {std::pair(forwardDone, &forward),
                               std::pair(inputGradDone, &inputGrad),
                               std::pair(weightGradDone, &weightGrad),
                               std::pair(recomputeDone, &recompute)})
      if (a.traits().makes & done)
        tasks->set(a.subject, a.index, k);
  }

  // Position of the last task that reads a replica's input.
  auto inputEnd = [&](int32_t replica, int64_t i) {
    const bool isReadAgain =
        problem.recomputes(replica) &&
        problem.recomputation[replica] == Recomputation::FromInput;
    return std::max(forward.of(replica, i),
                    isReadAgain ? recompute.of(replica, i) : int64_t(-1));
  };
  // Position of the last action that needs the producer's buffer of an edge's
  // message; -1 if nobody reads it.
  auto lastRead = [&](int32_t e, int64_t i) {
    if (int64_t send = sent.of(e, i); send >= 0)
      return sendReleased(rank, send);
    const Edge &edge = problem.edges[e];
    if (problem.rankOf(edge.to) != rank)
      return int64_t(-1);
    if (edge.producer == ActionKind::InputGrad)
      return inputGrad.of(edge.to, i);
    if (edge.producer == ActionKind::Recompute)
      return recompute.of(edge.to, i);
    return problem.isWhole(edge) ? inputEnd(edge.to, i)
                                 : forward.of(edge.to, i);
  };
  auto isCopied = [&](int32_t e) {
    const Edge &edge = problem.edges[e];
    return problem.rankOf(edge.from) == rank && !problem.isWhole(edge);
  };
  // The parts of a stage edge follow each other and share a buffer. It lives
  // from the first receive of a part, or from the task that copies the parts.
  auto addReceived = [&](EdgeRange parts, int64_t i, int64_t task,
                         int64_t last) {
    for (auto e = parts.begin(); e != parts.end();) {
      const int32_t buffer = numbers.received(*e);
      int64_t first = -1;
      for (; e != parts.end() && numbers.received(*e) == buffer; ++e)
        if (const int64_t filled = isCopied(*e) ? task : received.of(*e, i);
            filled >= 0)
          first = first < 0 ? filled : std::min(first, filled);
      if (first >= 0)
        addLife(lives, buffer, i, first, last);
    }
  };
  for (int32_t h = 0; h < problem.numReplicas(); ++h) {
    if (problem.rankOf(h) != rank)
      continue;
    auto own = [&](BufferKind kind) { return numbers.of(h, kind); };
    const EdgeRange inputs = edges.inputs(h, ActionKind::Forward),
                    outputs = edges.outputs(h, ActionKind::Forward),
                    gradsIn = edges.inputs(h, ActionKind::InputGrad),
                    gradsOut = edges.outputs(h, ActionKind::InputGrad),
                    inputsAgain = edges.inputs(h, ActionKind::Recompute),
                    outputsAgain = edges.outputs(h, ActionKind::Recompute);
    for (int64_t i = 0; i < microbatches; ++i) {
      int64_t f = forward.of(h, i), b = inputGrad.of(h, i),
              w = weightGrad.of(h, i);
      if (f >= 0) {
        addLife(lives, own(BufferKind::SavedForInputGrad), i, f,
                b >= 0 ? b : f);
        addLife(lives, own(BufferKind::SavedForWeightGrad), i, f,
                w >= 0 ? w : f);
        addReceived(inputs, i, f, inputEnd(h, i));
        const int64_t again = recompute.of(h, i);
        addLife(lives, own(BufferKind::Checkpoints), i, f, std::max(f, again));
        if (again >= 0) {
          addLife(lives, own(BufferKind::RecomputedForInputGrad), i, again,
                  std::max(again, b));
          addLife(lives, own(BufferKind::RecomputedForWeightGrad), i, again,
                  std::max(again, w));
          addReceived(inputsAgain, i, again, again);
          int64_t read = -1;
          for (int32_t e : outputsAgain)
            read = std::max(read, lastRead(e, i));
          if (read >= 0)
            addLife(lives, own(BufferKind::RecomputedOutput), i, again, read);
        }
        int64_t last = -1;
        for (int32_t e : outputs)
          last = std::max(last, lastRead(e, i));
        // Without backwards, ranks would run ahead: allow one output in
        // addition to the next.
        const int64_t next = i + 2 * replicas[h].turns;
        if (b < 0 && w < 0 && next < microbatches)
          last = std::min(last, forward.of(h, next) - 1);
        if (last >= 0)
          addLife(lives, own(BufferKind::Output), i, f, last);
      }
      if (b >= 0) {
        addReceived(gradsIn, i, b, b);
        for (auto e = gradsOut.begin(); e != gradsOut.end();) {
          const int32_t buffer = numbers.sent(*e);
          int64_t last = -1;
          for (; e != gradsOut.end() && numbers.sent(*e) == buffer; ++e)
            last = std::max(last, lastRead(*e, i));
          if (last >= 0)
            addLife(lives, buffer, i, b, last);
        }
      }
    }
  }
}

/// Adds gathered weights, and gradients until the await of their reduction.
void BufferLives::collectMovedLives(int32_t rank, Lives &lives) const {
  if (!problem.replicas.areSharded())
    return;
  const ActionRange actions = program.order.rank(rank);
  // [replica]: position at which the replica's buffer was taken: of gathered
  // weights, of gradients that are being made, and of gradients that a
  // reduction under way reads.
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
