//===- collectives.cpp - What ranks do together ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything is added in the order of the model's tensors, so that the result
// does not depend on how many ranks there are.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/error.h"
#include "runtime/execution/rank.h"

using namespace rondo::runtime;

/// The home's copy of a shared tensor, by its own global name or by the one
/// that it is shared under; null where it has none.
static const Tensor *findShared(const State &state, int32_t home,
                                const std::string &name) {
  const HomeBinding &binding = state.homes()[home];
  for (int32_t t = binding.firstTensor; t < binding.lastTensor; ++t) {
    const Tensor &tensor = state.tensors()[t];
    if (tensor.name == name || tensor.sharedWith == name)
      return &tensor;
  }
  return nullptr;
}

/// Once a stage's homes have added their gradients, all have the same ones, and
/// the owner's count for them.
static PartParams partOf(const State &state, const ProgramDesc &program,
                         const CollectiveDesc &desc, int32_t home) {
  const HomeBinding &binding = state.homes()[home];
  PartParams part{program.rankOfHome[home], nullptr, 0};
  switch (desc.kind) {
  case CollectiveKind::HomeGradients:
    part.data = binding.gradients;
    part.count = binding.optimized.gradientBytes / int64_t(sizeof(float));
    break;
  case CollectiveKind::TiedGradients: {
    const Tensor *tensor = findShared(state, home, desc.tensor);
    if (!tensor)
      throw Error("stage '" + std::string(binding.desc->name) +
                  "' has no tensor '" + desc.tensor +
                  "' whose gradients could be added");
    part.data = tensor->gradients;
    part.count = tensor->layout.count;
    part.contributes = state.isOwner(home);
    break;
  }
  case CollectiveKind::GradientNorm:
    part.data = binding.control.partials;
    if (state.isOwner(home))
      part.count =
          partialsPerLayer * static_cast<int64_t>(binding.layers.size());
    break;
  }
  return part;
}

Wiring rondo::runtime::wire(const State &state, const ProgramDesc &program) {
  const int32_t ranks = program.numRanks;
  Wiring wiring;
  wiring.channelOf.assign(int64_t(ranks) * ranks, -1);
  auto connect = [&](int32_t from, int32_t to) {
    int32_t &channel = wiring.channelOf[from * ranks + to];
    if (channel < 0) {
      channel = static_cast<int32_t>(wiring.channels.size());
      wiring.channels.push_back({from, to, 0});
    }
    wiring.channels[channel].messages += program.microbatches;
  };
  for (int32_t e = 0; e < state.executable().numEdges; ++e) {
    const EdgeDesc &edge = state.executable().edges[e];
    const int32_t from = program.rankOfHome[edge.from],
                  to = program.rankOfHome[edge.to];
    if (from != to)
      connect(from, to);
  }

  for (int32_t c = 0; c < program.numCollectives; ++c) {
    const CollectiveDesc &desc = program.collectives[c];
    CollectiveParams parts;
    for (int32_t i = 0; i < desc.numHomes; ++i)
      parts.push_back(partOf(state, program, desc, desc.homes[i]));
    wiring.collectives.push_back(std::move(parts));
  }
  return wiring;
}

/// Of the rank's homes.
std::vector<ControlHeader *> Rank::headers() const {
  std::vector<ControlHeader *> headers;
  for (const LocalHome &home : homes)
    if (home.binding)
      headers.push_back(home.binding->control.header);
  return headers;
}

void Rank::startCollective(int32_t collective) {
  if (program.collectives[collective].kind != CollectiveKind::GradientNorm)
    return transport.startSumParts(collective, me);
  for (size_t h = 0; h < homes.size(); ++h)
    if (const HomeBinding *home = homes[h].binding) {
      device.addCopies(home->optimized);
      if (state.isOwner(static_cast<int32_t>(h)))
        device.sumSquares(home->optimized);
    }
  if (headers().empty())
    throw Error("the program of rank " + std::to_string(me) +
                " runs all_reduce " + std::to_string(collective) +
                " without a home");
  // Memory that every kind of device can reach; the norm replaces it.
  transport.startAddAll(collective, me, &headers().front()->norm);
}

/// Of a norm: also the clip factor and the finite flag of all gradients.
void Rank::finishCollective(int32_t collective) {
  transport.waitCollective(collective, me);
  if (program.collectives[collective].kind == CollectiveKind::GradientNorm)
    device.finishNorm(&headers().front()->norm, optimizer.maxNorm, headers());
}
