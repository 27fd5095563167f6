//===- collectives.cpp - What ranks do together ---------------------------===//
//
// Everything is added in the order of the model's tensors, so that the result
// does not depend on how many ranks there are.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/error.h"
#include "runtime/execution/rank.h"

using namespace rondo::runtime;

/// The stage's copy of a shared tensor, by its own global name or by the one
/// that it is shared under; null where it has none.
static const Tensor *findShared(const State &state, int32_t stage,
                                const std::string &name) {
  const StageBinding &binding = state.stages()[stage];
  for (int32_t t = binding.firstTensor; t < binding.lastTensor; ++t) {
    const Tensor &tensor = state.tensors()[t];
    if (tensor.name == name || tensor.sharedWith == name)
      return &tensor;
  }
  return nullptr;
}

Wiring rondo::runtime::wire(const State &state, const ProgramDesc &program,
                            ImposedLink link) {
  const int32_t ranks = program.numRanks;
  const int32_t numStages = static_cast<int32_t>(state.stages().size());
  Wiring wiring;
  wiring.params.ranks = ranks;
  wiring.params.link = link;
  wiring.channelOf.assign(int64_t(ranks) * ranks, -1);
  auto connect = [&](int32_t from, int32_t to) {
    int32_t &channel = wiring.channelOf[from * ranks + to];
    if (channel < 0) {
      channel = static_cast<int32_t>(wiring.params.channels.size());
      wiring.params.channels.push_back({from, to, 0});
    }
    wiring.params.channels[channel].messages += program.microbatches;
  };
  for (int32_t s = 0; s + 1 < numStages; ++s) {
    int32_t from = program.rankOfStage[s], to = program.rankOfStage[s + 1];
    if (from == to)
      continue;
    connect(from, to);
    connect(to, from);
  }

  for (int32_t c = 0; c < program.numCollectives; ++c) {
    const CollectiveDesc &desc = program.collectives[c];
    CollectiveParams parts;
    for (int32_t i = 0; i < desc.numStages; ++i) {
      int32_t s = desc.stages[i];
      PartParams part{program.rankOfStage[s], nullptr, 0};
      if (desc.kind == CollectiveKind::GradientNorm) {
        part.data = state.stages()[s].control.partials;
        part.count = partialsPerLayer *
                     static_cast<int64_t>(state.stages()[s].layers.size());
      } else {
        const Tensor *tensor = findShared(state, s, desc.tensor);
        if (!tensor)
          throw Error("stage '" + std::string(state.stages()[s].desc->name) +
                      "' has no tensor '" + desc.tensor +
                      "' whose gradients could be added");
        part.data = tensor->gradients;
        part.count = tensor->layout.count;
      }
      parts.push_back(part);
    }
    wiring.params.collectives.push_back(std::move(parts));
  }
  return wiring;
}

/// Norm, clip factor and finite flag of all gradients.
void Rank::runNorm(int32_t collective) {
  std::vector<ControlHeader *> headers;
  for (const LocalStage &stage : stages) {
    if (!stage.binding)
      continue;
    device.sumSquares(stage.binding->optimized);
    headers.push_back(stage.binding->control.header);
  }
  if (headers.empty())
    throw Error("the program of rank " + std::to_string(me) +
                " runs all_reduce " + std::to_string(collective) +
                " without a stage");
  // A place that every kind of device can reach; the norm replaces it.
  double *sum = &headers.front()->norm;
  transport.addAll(collective, me, sum);
  device.finishNorm(sum, optimizer.maxNorm, headers);
}

void Rank::runCollective(int32_t collective) {
  if (program.collectives[collective].kind == CollectiveKind::TiedGradients)
    transport.sumParts(collective, me);
  else
    runNorm(collective);
}
