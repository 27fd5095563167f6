//===- rank_enqueued.cpp - Overlapping iterations on other devices --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device that enqueues its work gets to a task long after the rank's thread,
// and repeats recorded work without it. What the host knows goes through tables
// that are filled before the run, and results come back through them.
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/rank.h"

using namespace rondo;
using namespace rondo::runtime;

/// Micro-batches of a run that a replica takes, up to one of them.
static int64_t numTaken(const ShareDesc &share, int64_t microbatch) {
  return microbatch / share.turns;
}

bool RunningRank::fillTables(int32_t h) {
  LocalReplica &replica = replicas[h];
  const ShareDesc &share = program.shares[h];
  if (!replica.tables)
    replica.tables = std::make_unique<RunTables>(device);
  RunTables &tables = *replica.tables;
  const bool readsData = span.writeData && replica.place(Buffer::Data).base;
  const int64_t microbatches = span.iterations * program.microbatches;
  RunTables::Sizes sizes;
  sizes.iterations = span.iterations;
  sizes.headers = 0;
  forHeaders(replica, [&](ControlHeader *, double) { ++sizes.headers; });
  sizes.microbatches = numTaken(share, microbatches);
  sizes.dataBytes = readsData ? share.bytes[static_cast<int>(Buffer::Data)] : 0;
  const bool isElsewhere = tables.reserve(sizes);
  for (int64_t t = 0; t < span.iterations; ++t) {
    int64_t number = 0;
    forHeaders(replica, [&](ControlHeader *, double delay) {
      tables.control(t, number++) = controlOf(t, delay);
    });
    tables.before(t) = span.before + t;
  }
  for (int64_t m = share.turn; readsData && m < microbatches; m += share.turns)
    span.writeData(h, m, tables.data(numTaken(share, m)));
  return isElsewhere;
}

void RunningRank::writeData(int32_t h, int64_t microbatch) {
  const LocalReplica &replica = replicas[h];
  char *slot = replica.place(Buffer::Data).at(microbatch);
  if (replica.tables)
    replica.tables->writeData(slot, numTaken(program.shares[h], microbatch));
  else
    span.writeData(h, microbatch, slot);
}

void RunningRank::keepLoss(LocalReplica &replica, int64_t microbatch) {
  const float *loss =
      replica.binding->control.losses + microbatch % program.microbatches;
  if (replica.tables)
    replica.tables->readLoss(
        loss, numTaken(program.shares[&replica - replicas.data()], microbatch));
  else
    replica.record->losses[microbatch] = *loss;
}

void RunningRank::finish() {
  for (LocalReplica &replica : replicas)
    if (replica.binding && overlap && replica.tables)
      finish(replica);
}

void RunningRank::finish(LocalReplica &replica) {
  const ShareDesc &share = program.shares[&replica - replicas.data()];
  const RunTables &tables = *replica.tables;
  ReplicaRecord &record = *replica.record;
  const auto microbatches = static_cast<int64_t>(record.losses.size());
  for (int64_t m = share.turn; m < microbatches; m += share.turns)
    record.losses[m] = tables.loss(numTaken(share, m));
  for (int64_t t = 0; t < span.iterations; ++t) {
    record.endNs[t] = tables.endTime(t);
    record.skipped[t] = !tables.isFinite(t);
  }
  device.toHostTimes(record.endNs);
  record.steps.store(span.iterations, std::memory_order_release);
}
