//===- collectives.cpp - A rank's collectives -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/collectives.h"

#include "runtime/base/error.h"
#include "runtime/execution/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace rondo;
using namespace rondo::runtime;

Collectives::Collectives(const RankContext &context, double maxNorm)
    : context(context), program(context.program), maxNorm(maxNorm),
      firstEntry(context.wiring.firstEntry),
      progress(context.wiring.collectives.size()),
      lateSums(context.wiring.collectives.size()) {
  const std::vector<ReplicaBinding> &all = context.state.replicas(program);
  for (size_t h = 0; h < all.size(); ++h)
    if (program.rankOfReplica[h] == context.rank) {
      replicas.push_back(static_cast<int32_t>(h));
      headers.push_back(all[h].control.header);
    }
}

void Collectives::beginRun(const Span &span) {
  emulation = span.emulation;
  lateNorms.assign(normDelay(program) > 0 ? span.iterations : 0,
                   std::numeric_limits<double>::quiet_NaN());
}

void Collectives::beginIteration() {
  progress.assign(progress.size(), Progress());
}

void Collectives::checkEnd() const {
  const auto open =
      std::find_if(progress.begin(), progress.end(), [](const Progress &last) {
        return last.state == Progress::Issued;
      });
  if (open != progress.end())
    throw Error("the program of rank " + std::to_string(context.rank) +
                " does not await collective " +
                std::to_string(collectiveOf(open - progress.begin())));
}

void Collectives::check(ActionKind kind, int64_t collective) const {
  if (collective < 0 || collective >= program.numCollectives)
    throw Error("the program of rank " + std::to_string(context.rank) +
                " runs " + actionName(kind, Message::None, collective, 0) +
                ", which the program does not have");
}

int32_t Collectives::entryOf(int64_t collective, int64_t step) const {
  const int64_t delay = program.collectives[collective].delay;
  return firstEntry[collective] +
         (delay > 0 ? static_cast<int32_t>(step % delay) : 0);
}

int64_t Collectives::collectiveOf(int64_t entry) const {
  return std::upper_bound(firstEntry.begin(), firstEntry.end(), entry) -
         firstEntry.begin() - 1;
}

void Collectives::issueSum(int64_t collective, int64_t step) {
  Progress &last = progress[entryOf(collective, step)];
  if (last.state == Progress::Issued ||
      (last.state == Progress::Awaited && last.step == step))
    throw Error("the program of rank " + std::to_string(context.rank) +
                " issues collective " + std::to_string(collective) + " twice");
  start(collective, step);
  last = {Progress::Issued, step};
}

bool Collectives::await(int64_t collective, int64_t step) {
  Progress &last = progress[entryOf(collective, step)];
  if (last.state == Progress::Awaited && last.step == step)
    return false;
  if (last.state != Progress::Issued || last.step != step)
    throw Error("the program of rank " + std::to_string(context.rank) +
                " awaits collective " + std::to_string(collective) +
                ", which it has not issued");
  finish(collective, step);
  last.state = Progress::Awaited;
  return true;
}

void Collectives::start(int64_t collective, int64_t step) {
  const CollectiveDesc &desc = program.collectives[collective];
  const int32_t entry = entryOf(collective, step);
  if (desc.kind != CollectiveKind::GradientNorm)
    return context.transport.startSumParts(numberOf(entry), context.rank);
  if (headers.empty())
    throw Error("the program of rank " + std::to_string(context.rank) +
                " runs all_reduce " + std::to_string(collective) +
                " without a replica");
  // Steps have made the parts of a norm that is awaited later.
  if (desc.delay > 0)
    return context.transport.startAddAll(numberOf(entry), context.rank,
                                         &lateSums[entry]);
  Device &device = context.device();
  for (int32_t h : replicas) {
    const ReplicaBinding &replica = context.state.replicas(program)[h];
    // Copies in a shard have been added before the reduction.
    if (replica.shard == 0)
      device.addCopies(replica.optimized);
    if (context.state.isOwner(h))
      device.sumSquares(replica.optimized);
  }
  // Memory that every kind of device can reach; the norm replaces it.
  context.transport.startAddAll(numberOf(entry), context.rank,
                                &headers.front()->norm);
}

void Collectives::startShards(int64_t collective, float *whole) {
  const int32_t number = numberOf(firstEntry[collective]);
  if (program.collectives[collective].kind == CollectiveKind::GatherWeights)
    context.transport.startGather(number, context.rank, whole);
  else
    context.transport.startScatter(number, context.rank, whole);
}

/// A norm also gives the clip factor and the finite flag of all gradients.
void Collectives::finish(int64_t collective, int64_t step) {
  const CollectiveDesc &desc = program.collectives[collective];
  const int32_t entry = entryOf(collective, step);
  context.transport.waitCollective(numberOf(entry), context.rank);
  if (desc.kind != CollectiveKind::GradientNorm)
    return;
  if (desc.delay > 0) {
    lateNorms[step] = std::sqrt(lateSums[entry]);
    return;
  }
  context.device().finishNorm(&headers.front()->norm, maxNorm, headers);
  if (emulation.history)
    emulation.history->addNorm(headers.front()->norm);
}
