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

int64_t rondo::runtime::mostAtOnce(const ProgramDesc &program) {
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
  overlap = span.imitation.overlap ? span.imitation.overlap : program.overlap;
  lateNorms.assign(normDelay(program) > 0 ? span.iterations : 0,
                   std::numeric_limits<double>::quiet_NaN());
  for (size_t h = 0; h < homes.size(); ++h)
    if (homes[h].binding)
      prepare(static_cast<int64_t>(h));
}

void RunningRank::prepare(int64_t h) {
  LocalHome &home = homes[h];
  const HomeBinding &binding = *home.binding;
  HomeRecord &record = *records[h];
  record.steps.store(0, std::memory_order_relaxed);
  const bool makesLoss = std::any_of(
      binding.layers.begin(), binding.layers.end(),
      [](const LayerBinding &layer) { return hasLoss(*layer.desc); });
  const int64_t iterations = overlap ? span.iterations : 0;
  record.losses.assign(makesLoss ? iterations * program.microbatches : 0, 0);
  record.endNs.assign(iterations, 0);
  record.skipped.assign(iterations, 0);
  home.firstVersion = binding.version;
  home.versions = nullptr;
  home.moved = nullptr;
  home.stepsBack = home.stepsBackAgain = 0;
  home.ownHeaders.clear();
  home.optimized.ownHeaders = nullptr;
  home.optimized.changeDecay = 0;
  if (!overlap)
    return;

  home.versions = &overlap->versions[h];
  const double apart = home.versions->meanForward - home.versions->meanBackward;
  if (home.versions->extrapolates) {
    home.optimized.changeDecay =
        static_cast<float>(changeDecay(optimizer.extrapolationDecay, apart));
    home.stepsBack = static_cast<float>(apart);
    if (home.versions->recomputesExtrapolated)
      home.stepsBackAgain = static_cast<float>(std::max(
          home.versions->meanForward - home.versions->meanRecompute, 0.0));
  }
  // A stage whose backward is not behind its forward has nothing to correct.
  if (home.versions->extrapolates && apart > 0) {
    const int64_t bytes =
        movedBytes(binding.layers.front().desc,
                   static_cast<int32_t>(binding.layers.size()));
    if (span.imitation.history) {
      // Tasks run one after another.
      movedWeights.resize(
          std::max<size_t>(movedWeights.size(), bytes + bufferAlignment));
      const auto address = reinterpret_cast<uintptr_t>(movedWeights.data());
      home.moved = movedWeights.data() +
                   alignedBytes(static_cast<int64_t>(address)) -
                   static_cast<int64_t>(address);
    } else if (char *workspace = home.place(Buffer::Workspace).at(0)) {
      home.moved =
          workspace +
          program.shares[h].bytes[static_cast<int>(Buffer::Workspace)] - bytes;
    }
  }
  findShared(h);
}

/// Finds the tensors that other stages have as well.
void RunningRank::findShared(int64_t h) {
  LocalHome &home = homes[h];
  const std::vector<Tensor> &all = state.tensors();
  auto globalName = [](const Tensor &tensor) -> const std::string & {
    return tensor.sharedWith.empty() ? tensor.name : tensor.sharedWith;
  };
  auto stageOf = [&](const Tensor &tensor) {
    return state.executable().homes[tensor.home].stage;
  };
  home.ownHeaders.assign(home.optimized.numTensors, nullptr);
  home.ownDelays.assign(home.optimized.numTensors, 0);
  sharedHeaders[h].resize(home.optimized.numTensors);
  for (const Tensor &other : all) {
    if (other.sharedWith.empty())
      continue;
    // A copy: whose are the others of its name?
    for (int32_t t = 0; t < home.optimized.numTensors; ++t) {
      const Tensor &mine = home.optimized.tensors[t];
      if (globalName(mine) != other.sharedWith)
        continue;
      for (const Tensor &same : all) {
        if (globalName(same) != other.sharedWith)
          continue;
        if (stageOf(same) != stageOf(mine))
          home.ownHeaders[t] = &sharedHeaders[h][t];
        home.ownDelays[t] = std::max(home.ownDelays[t],
                                     overlap->versions[same.home].meanForward);
      }
    }
  }
  home.optimized.ownHeaders = home.ownHeaders.data();
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
      microbatch + span.imitation.iteration * program.microbatches;
  return number / program.microbatches -
         delayOf(*overlap, homes[h].versions->delaysOf(kind), number);
}

char *RunningRank::weightsOf(int64_t h, ActionKind kind, int64_t microbatch) {
  const LocalHome &home = homes[h];
  if (home.shard.isSharded())
    return gatheredWeights(h, kind, microbatch);
  const Place &place = home.place(Buffer::Weights);
  if (!overlap)
    return place.at(home.binding->version);
  const int64_t version = versionOf(h, kind, microbatch);
  if (span.imitation.history)
    return span.imitation.history->weights(static_cast<int32_t>(h), version);
  const int64_t newest = home.binding->version - home.firstVersion;
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
  return place.at(home.firstVersion + version);
}

const char *RunningRank::changesOf(int64_t h, ActionKind kind,
                                   int64_t microbatch) {
  const LocalHome &home = homes[h];
  const int64_t version = versionOf(h, kind, microbatch);
  if (span.imitation.history)
    return span.imitation.history->changes(static_cast<int32_t>(h), version);
  const int64_t newest = home.binding->version - home.firstVersion;
  if (version != newest)
    failOnVersion(h, kind, microbatch,
                  "but the mean of changes is that of version " +
                      std::to_string(newest));
  return home.binding->changes;
}

char *RunningRank::movedWeightsOf(const LocalHome &home,
                                  const LayerBinding &layer,
                                  const char *weights, const char *changes,
                                  float steps) {
  moveBack(layer.sizes.gradients / int64_t(sizeof(float)), steps,
           reinterpret_cast<const float *>(weights + layer.weightsOffset),
           reinterpret_cast<const float *>(changes + layer.gradientsOffset),
           reinterpret_cast<float *>(home.moved));
  return home.moved;
}

/// A run ends with nothing under way.
void RunningRank::checkEnd() const {
  if (!program.overlap)
    return;
  for (size_t h = 0; h < homes.size(); ++h)
    if (homes[h].binding && records[h]->steps != span.iterations)
      throw Error("the program of rank " + std::to_string(me) + " has done " +
                  std::to_string(records[h]->steps) + " of the " +
                  std::to_string(span.iterations) + " steps of stage '" +
                  homes[h].binding->desc->name + "'");
  for (const LocalEdge &edge : edges)
    for (size_t i = 0; i < edge.tickets.size(); ++i)
      if (edge.tickets[i] >= 0)
        throw Error("the program of rank " + std::to_string(me) +
                    " does not wait for a message on edge " +
                    std::to_string(&edge - edges.data()) +
                    " that it has posted a receive for");
}
