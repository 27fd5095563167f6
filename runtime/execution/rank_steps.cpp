//===- rank_steps.cpp - Collectives and optimizer steps of a rank ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/execution/rank_record.h"
#include "runtime/execution/weight_history.h"

#include <cmath>
#include <limits>

using namespace rondo;
using namespace rondo::runtime;

void RunningRank::checkCollective(ActionKind kind, int64_t collective) const {
  if (collective < 0 || collective >= program.numCollectives)
    throw Error("the program of rank " + std::to_string(me) + " runs " +
                actionName(kind, Message::None, collective, 0) +
                ", which the program does not have");
}

void RunningRank::allReduce(int64_t collective, int64_t step) {
  if (isStepLeftOut(step))
    return;
  checkCollective(ActionKind::AllReduce, collective);
  if (movesState(program.collectives[collective].kind))
    throw Error("the program of rank " + std::to_string(me) +
                " runs all_reduce " + std::to_string(collective) +
                ", which moves the state of a group: it is issued by unshard "
                "or reduce_grad");
  if (isUnused(collective))
    return;
  Action action(*this, ActionKind::AllReduce, collective, step);
  Progress &last = progress[entryOf(collective, step)];
  if (last.state == Progress::Issued ||
      (last.state == Progress::Awaited && last.step == step))
    throw Error("the program of rank " + std::to_string(me) +
                " issues collective " + std::to_string(collective) + " twice");
  startCollective(static_cast<int32_t>(collective), step);
  last.state = Progress::Issued;
  last.step = step;
}

void RunningRank::await(int64_t collective, int64_t step) {
  if (isStepLeftOut(step))
    return;
  checkCollective(ActionKind::Await, collective);
  if (isUnused(collective))
    return;
  Action action(*this, ActionKind::Await, collective, step);
  if (isHere(collective, step))
    return;
  Progress &last = progress[entryOf(collective, step)];
  if (last.state == Progress::Awaited && last.step == step)
    return;
  if (last.state != Progress::Issued || last.step != step)
    throw Error("the program of rank " + std::to_string(me) +
                " awaits collective " + std::to_string(collective) +
                ", which it has not issued");
  finishCollective(static_cast<int32_t>(collective), step);
  last.state = Progress::Awaited;
  if (movesState(program.collectives[collective].kind))
    finishShard(static_cast<int32_t>(collective));
}

bool RunningRank::isUnused(int64_t collective) const {
  return clipsByStage() &&
         program.collectives[collective].kind == CollectiveKind::GradientNorm;
}

/// What a norm of zero or more tensors means for their step.
static void setNorm(ControlHeader &header, double sumOfSquares,
                    double maxNorm) {
  header.norm = std::sqrt(sumOfSquares);
  header.isFinite = std::isfinite(header.norm);
  header.step.clipFactor =
      header.isFinite ? clipFactor(header.norm, maxNorm) : 0;
}

/// Clips the replica's gradients by their own norm. Copies of a tensor in
/// several stages must stay equal, so such a tensor is clipped, and skipped, by
/// its own norm: the collective has given all of them the same gradients.
void RunningRank::clipByStage(LocalReplica &replica, double *parts) {
  // A reference's own norm has done so.
  if (clipsByStage() || parts)
    device.addCopies(replica.optimized);
  const size_t h = &replica - replicas.data();
  double sum = 0;
  for (int32_t t = 0; t < replica.optimized.numTensors; ++t) {
    const Tensor &tensor = replica.optimized.tensors[t];
    // The copy of a tensor of the stage itself has the gradients of that one.
    if (!replica.ownHeaders[t] && !tensor.sharedWith.empty())
      continue;
    const double squares = sumOfSquares(tensor.gradients, tensor.count);
    if (replica.ownHeaders[t])
      setNorm(sharedHeaders[h][t], squares, optimizer.maxNorm);
    else
      sum += squares;
    // The norm counts a tensor that stages share once.
    if (parts && tensor.sharedWith.empty())
      parts[tensor.layerInStage * partialsPerLayer + tensor.index] = squares;
  }
  setNorm(*replica.binding->control.header, sum, optimizer.maxNorm);
}

double RunningRank::normOf(int64_t step) const {
  if (step < 0)
    return std::numeric_limits<double>::quiet_NaN();
  return span.emulation.history ? span.emulation.history->norm(step)
                                : lateNorms[step];
}

/// The norm of all gradients of an earlier iteration takes the place of the
/// stage's own. Where that iteration is not part of the run, or a gradient of
/// it was not finite, the own one stays. A stage whose own gradients are not
/// finite skips its step in any case.
void RunningRank::clipByEarlier(LocalReplica &replica, int64_t step) {
  const double norm = normOf(step - normDelay(stepped()));
  if (!std::isfinite(norm))
    return;
  const double factor = clipFactor(norm, optimizer.maxNorm);
  auto clip = [&](ControlHeader &header) {
    if (header.isFinite)
      header.step.clipFactor = factor;
  };
  clip(*replica.binding->control.header);
  const size_t h = &replica - replicas.data();
  for (size_t t = 0; t < sharedHeaders[h].size(); ++t)
    if (replica.ownHeaders[t])
      clip(sharedHeaders[h][t]);
}

/// The rate of a step depends on its number in the training and on how late the
/// stage is, never on when it runs.
void RunningRank::prepareStep(LocalReplica &replica, int64_t step) {
  const int64_t number = span.before + step + 1;
  const double rate = learningRate(span.rates, number);
  auto set = [&](ControlHeader &header, double delay) {
    header.step.step = number;
    header.step.learningRate = static_cast<float>(
        rate * delayFactor(delay, number - 1, optimizer.delayAnneal));
  };
  set(*replica.binding->control.header, replica.versions->meanForward);
  std::vector<ControlHeader> &shared =
      sharedHeaders[static_cast<size_t>(&replica - replicas.data())];
  for (size_t t = 0; t < shared.size(); ++t)
    if (replica.ownHeaders[t]) {
      shared[t] = *replica.binding->control.header;
      set(shared[t], replica.ownDelays[t]);
    }
  const int32_t delay = normDelay(stepped());
  if (clipsByStage() || delay > 0)
    clipByStage(
        replica,
        span.emulation.history || delay == 0
            ? nullptr
            : state.normParts(static_cast<int32_t>(&replica - replicas.data()),
                              static_cast<int32_t>(step % delay)));
  if (delay > 0)
    clipByEarlier(replica, step + span.emulation.iteration);
}

void RunningRank::step(int64_t h, int64_t step) {
  if (isStepLeftOut(step))
    return;
  LocalReplica &replica = local(h, program.shares[h].turn);
  Action action(*this, ActionKind::Step, h, step);
  if (overlap)
    prepareStep(replica, step);
  else if (!computesNorm(program) && !replica.shard.isSharded())
    device.addCopies(replica.optimized);
  // Writes the version after the newest one.
  state.nextVersion(static_cast<int32_t>(h));
  device.step(replica.optimized, optimizer.rule);
  if (!overlap)
    return;
  if (span.emulation.history)
    span.emulation.history->add(static_cast<int32_t>(h));
  ReplicaRecord &record = *records[h];
  const int64_t done = record.steps.load(std::memory_order_relaxed);
  if (done != step)
    throw Error("the program of rank " + std::to_string(me) + " runs step " +
                std::to_string(step) + " of stage '" +
                replica.binding->desc->name + "', which has done " +
                std::to_string(done) + " of the run");
  bool isFinite = replica.binding->control.header->isFinite != 0;
  for (const ControlHeader *own : replica.ownHeaders)
    isFinite &= !own || own->isFinite;
  record.skipped[step] = !isFinite;
  record.endNs[step] = nowNs();
  record.steps.store(done + 1, std::memory_order_release);
}
