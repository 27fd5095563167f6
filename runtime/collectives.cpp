//===- collectives.cpp - What ranks do together, and the step -------------===//
//
// Everything here is added in the order of the model's tensors, so that the
// result does not depend on how many ranks there are.
//
//===----------------------------------------------------------------------===//

#include "runtime/error.h"
#include "runtime/rank.h"

#include <algorithm>
#include <cmath>

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

Wiring rondo::runtime::wire(const State &state, const PlanDesc &plan,
                            ImposedLink link) {
  const int32_t ranks = plan.numRanks;
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
    wiring.params.channels[channel].messages += plan.microbatches;
  };
  for (int32_t s = 0; s + 1 < numStages; ++s) {
    int32_t from = plan.rankOfStage[s], to = plan.rankOfStage[s + 1];
    if (from == to)
      continue;
    connect(from, to);
    connect(to, from);
  }

  for (int32_t c = 0; c < plan.numCollectives; ++c) {
    const CollectiveDesc &desc = plan.collectives[c];
    CollectiveParams parts;
    for (int32_t i = 0; i < desc.numStages; ++i) {
      int32_t s = desc.stages[i];
      PartParams part{plan.rankOfStage[s], nullptr, 0};
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

/// Adds the partial gradients of a tensor and its copy in one stage; a
/// collective does it where they are in two.
static void addCopies(const State &state, const StageBinding &binding) {
  for (int32_t c = binding.firstTensor; c < binding.lastTensor; ++c) {
    const Tensor &copy = state.tensors()[c];
    for (int32_t t = binding.firstTensor; t < c; ++t) {
      const Tensor &tensor = state.tensors()[t];
      if (copy.sharedWith != tensor.name)
        continue;
      for (int64_t i = 0; i < tensor.layout.count; ++i)
        copy.gradients[i] = tensor.gradients[i] += copy.gradients[i];
    }
  }
}

/// Sums of squares of a stage's gradients, by tensor. A tensor that is a copy
/// of another counts 0, since both have the same gradient by now.
void Rank::addNorms(const LocalStage &stage) {
  addCopies(state, *stage.binding);
  const StageBinding &binding = *stage.binding;
  double *partials = binding.control.partials;
  std::fill(partials, partials + partialsPerLayer * binding.layers.size(), 0.0);
  for (int32_t t = binding.firstTensor; t < binding.lastTensor; ++t) {
    const Tensor &tensor = state.tensors()[t];
    if (tensor.sharedWith.empty())
      partials[tensor.layerInStage * partialsPerLayer + tensor.index] =
          sumOfSquares(tensor.gradients, tensor.layout.count);
  }
}

void Rank::finishNorm(double sum) {
  double norm = std::sqrt(sum);
  for (const LocalStage &stage : stages) {
    if (!stage.binding)
      continue;
    ControlHeader &header = *stage.binding->control.header;
    header.norm = norm;
    header.isFinite = std::isfinite(norm);
    header.step.clipFactor =
        header.isFinite ? clipFactor(norm, optimizer.maxNorm) : 0;
  }
}

void Rank::runCollective(int32_t collective) {
  if (plan.collectives[collective].kind == CollectiveKind::TiedGradients) {
    transport.sumParts(collective, me);
    return;
  }
  for (const LocalStage &stage : stages)
    if (stage.binding)
      addNorms(stage);
  finishNorm(transport.addAll(collective, me));
}

void Rank::runStep(const LocalStage &stage) {
  const StageBinding &binding = *stage.binding;
  const ControlHeader &header = *binding.control.header;
  for (int32_t t = binding.firstTensor; t < binding.lastTensor; ++t) {
    const Tensor &tensor = state.tensors()[t];
    if (header.isFinite)
      adamw(optimizer.adamw, &header.step, tensor.layout.decay,
            tensor.layout.count, tensor.weights, tensor.gradients,
            tensor.moment1, tensor.moment2);
  }
  // The next iteration adds to the gradients.
  if (binding.gradients)
    state.arena(binding.desc->rank)
        .fill(binding.gradients, 0,
              binding.desc->bytes[static_cast<int>(Buffer::Gradients)]);
}
