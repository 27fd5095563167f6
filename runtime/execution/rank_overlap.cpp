//===- rank_overlap.cpp - Runs whose iterations overlap -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which weights a task reads follows from the tables alone. What the rank's
// order has made of them by then is checked, not asked.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/error.h"
#include "runtime/execution/rank.h"
#include "runtime/execution/weight_history.h"

#include <algorithm>
#include <limits>

using namespace rondo;
using namespace rondo::runtime;

int64_t rondo::runtime::maxAtOnce(const ProgramDesc &program) {
  int64_t most = program.microbatches;
  for (int32_t p = 0; program.overlap && p < program.numPlaces; ++p)
    if (program.places[p].pool >= 0)
      most = std::max<int64_t>(most, program.places[p].period);
  return most;
}

void RunningRank::begin(const Span &next) {
  span = next;
  ring.beginRun({program.name, program.microbatches, program.overlap != nullptr,
                 program.kind != ProgramKind::Evaluation},
                span.before);
  overlap = span.emulation.overlap ? span.emulation.overlap : program.overlap;
  lateNorms.assign(normDelay(program) > 0 ? span.iterations : 0,
                   std::numeric_limits<double>::quiet_NaN());
  for (size_t h = 0; h < replicas.size(); ++h)
    if (replicas[h].binding)
      prepare(static_cast<int64_t>(h));
}

void RunningRank::prepare(int64_t h) {
  LocalReplica &replica = replicas[h];
  const ReplicaBinding &binding = *replica.binding;
  ReplicaRecord &record = *records[h];
  record.steps.store(0, std::memory_order_relaxed);
  const bool makesLoss = std::any_of(
      binding.layers.begin(), binding.layers.end(),
      [](const LayerBinding &layer) { return hasLoss(*layer.desc); });
  const int64_t iterations = overlap ? span.iterations : 0;
  record.losses.assign(makesLoss ? iterations * program.microbatches : 0, 0);
  record.endNs.assign(iterations, 0);
  record.skipped.assign(iterations, 0);
  replica.firstVersion = binding.version;
  replica.versions = nullptr;
  replica.moved = nullptr;
  replica.stepsBack = replica.stepsBackAgain = 0;
  replica.ownHeaders.clear();
  replica.optimized.ownHeaders = nullptr;
  replica.optimized.changeDecay = 0;
  if (!overlap)
    return;

  replica.versions = &overlap->versions[h];
  const double apart =
      replica.versions->meanForward - replica.versions->meanBackward;
  if (replica.versions->extrapolates) {
    replica.optimized.changeDecay =
        static_cast<float>(changeDecay(optimizer.extrapolationDecay, apart));
    replica.stepsBack = static_cast<float>(apart);
    if (replica.versions->recomputesExtrapolated)
      replica.stepsBackAgain = static_cast<float>(std::max(
          replica.versions->meanForward - replica.versions->meanRecompute,
          0.0));
  }
  // A stage whose backward is not behind its forward has nothing to correct.
  if (replica.versions->extrapolates && apart > 0) {
    const int64_t bytes =
        movedBytes(binding.layers.front().desc,
                   static_cast<int32_t>(binding.layers.size()));
    if (span.emulation.history) {
      // Tasks run one after another.
      movedWeights.resize(
          std::max<size_t>(movedWeights.size(), bytes + bufferAlignment));
      const auto address = reinterpret_cast<uintptr_t>(movedWeights.data());
      replica.moved = movedWeights.data() +
                      alignedBytes(static_cast<int64_t>(address)) -
                      static_cast<int64_t>(address);
    } else if (char *workspace = replica.place(Buffer::Workspace).at(0)) {
      replica.moved =
          workspace +
          program.shares[h].bytes[static_cast<int>(Buffer::Workspace)] - bytes;
    }
  }
  findShared(h);
}

/// Finds the tensors that other stages have as well.
void RunningRank::findShared(int64_t h) {
  LocalReplica &replica = replicas[h];
  const std::vector<Tensor> &all = state.tensors();
  auto globalName = [](const Tensor &tensor) -> const std::string & {
    return tensor.sharedWith.empty() ? tensor.name : tensor.sharedWith;
  };
  auto stageOf = [&](const Tensor &tensor) {
    return state.executable().replicas[tensor.replica].stage;
  };
  replica.ownHeaders.assign(replica.optimized.numTensors, nullptr);
  replica.ownDelays.assign(replica.optimized.numTensors, 0);
  sharedHeaders[h].resize(replica.optimized.numTensors);
  for (const Tensor &other : all) {
    if (other.sharedWith.empty())
      continue;
    // A copy: whose are the others of its name?
    for (int32_t t = 0; t < replica.optimized.numTensors; ++t) {
      const Tensor &mine = replica.optimized.tensors[t];
      if (globalName(mine) != other.sharedWith)
        continue;
      for (const Tensor &same : all) {
        if (globalName(same) != other.sharedWith)
          continue;
        if (stageOf(same) != stageOf(mine))
          replica.ownHeaders[t] = &sharedHeaders[h][t];
        replica.ownDelays[t] = std::max(
            replica.ownDelays[t], overlap->versions[same.replica].meanForward);
      }
    }
  }
  replica.optimized.ownHeaders = replica.ownHeaders.data();
}

int64_t RunningRank::repetitions() {
  if (!program.overlap)
    return 1;
  const int64_t each = program.overlap->iterationsEach;
  return (span.iterations + each - 1) / each;
}

int64_t RunningRank::versionOf(int64_t h, ActionKind kind,
                               int64_t microbatch) const {
  const int64_t number =
      microbatch + span.emulation.iteration * program.microbatches;
  return number / program.microbatches -
         delayOf(*overlap, replicas[h].versions->delaysOf(kind), number);
}

char *RunningRank::weightsOf(int64_t h, ActionKind kind, int64_t microbatch) {
  const LocalReplica &replica = replicas[h];
  if (replica.shard.isSharded())
    return gatheredWeights(h, kind, microbatch);
  const Place &place = replica.place(Buffer::Weights);
  if (!overlap)
    return place.at(replica.binding->version);
  const int64_t version = versionOf(h, kind, microbatch);
  if (span.emulation.history)
    return span.emulation.history->weights(static_cast<int32_t>(h), version);
  const int64_t newest = replica.binding->version - replica.firstVersion;
  const int64_t slots = place.base ? place.slots.period : 1;
  // Without weights there is nothing to read.
  if (place.base && version > newest)
    failOnVersion(h, kind, microbatch,
                  "which is not made yet: the newest is " +
                      std::to_string(newest));
  if (place.base && (version < 0 || newest - version >= slots))
    failOnVersion(h, kind, microbatch,
                  "which is overwritten: the newest is " +
                      std::to_string(newest) + ", and there is room for " +
                      std::to_string(slots));
  return place.at(replica.firstVersion + version);
}

const char *RunningRank::changesOf(int64_t h, ActionKind kind,
                                   int64_t microbatch) {
  const LocalReplica &replica = replicas[h];
  const int64_t version = versionOf(h, kind, microbatch);
  if (span.emulation.history)
    return span.emulation.history->changes(static_cast<int32_t>(h), version);
  const int64_t newest = replica.binding->version - replica.firstVersion;
  if (version != newest)
    failOnVersion(h, kind, microbatch,
                  "but the mean of changes is that of version " +
                      std::to_string(newest));
  return replica.binding->changes;
}

char *RunningRank::movedWeightsOf(const LocalReplica &replica,
                                  const LayerBinding &layer,
                                  const char *weights, const char *changes,
                                  float steps) {
  moveBack(layer.sizes.gradients / int64_t(sizeof(float)), steps,
           reinterpret_cast<const float *>(weights + layer.weightsOffset),
           reinterpret_cast<const float *>(changes + layer.gradientsOffset),
           reinterpret_cast<float *>(replica.moved));
  return replica.moved;
}

/// A run ends with nothing under way.
void RunningRank::checkEnd() const {
  if (!program.overlap)
    return;
  for (size_t h = 0; h < replicas.size(); ++h)
    if (replicas[h].binding && records[h]->steps != span.iterations)
      throw Error("the program of rank " + std::to_string(me) + " has done " +
                  std::to_string(records[h]->steps) + " of the " +
                  std::to_string(span.iterations) + " steps of stage '" +
                  replicas[h].binding->desc->name + "'");
  for (const LocalEdge &edge : edges)
    for (size_t i = 0; i < edge.tickets.size(); ++i)
      if (edge.tickets[i] >= 0)
        throw Error("the program of rank " + std::to_string(me) +
                    " does not wait for a message on edge " +
                    std::to_string(&edge - edges.data()) +
                    " that it has posted a receive for");
}
