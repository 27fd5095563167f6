//===- StageCut.cpp - Layers of a run's stages ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/launch/StageCut.h"

#include "kinds/Counts.h"

#include <numeric>

using namespace rondo;
using namespace rondo::launch;

namespace {

/// The cut of a run that lists no layers.
StageCut impliedCut(const groups::Run &run) {
  const groups::Layout &layout = run.layout;
  const int64_t stages = layout.pipeline * layout.chunks;
  const int64_t layers = run.model.layers;
  StageCut cut;
  if (layers % stages == 0) {
    cut.kind = CutKind::Even;
    cut.layers.assign(size_t(stages), layers / stages);
  } else if ((layers + 2) % stages == 0) {
    cut.kind = CutKind::EvenWithEnds;
    cut.layers.assign(size_t(stages), (layers + 2) / stages);
    --cut.layers.front();
    --cut.layers.back();
  } else if (layout.chunks == 1 && run.model.experts && stages <= layers) {
    cut.kind = CutKind::Listed;
    for (const groups::RankLayers &rank : layersOfRanks(run.model, layout))
      cut.layers.push_back(rank.dense + rank.experts);
  }
  return cut;
}

} // namespace

StageCut launch::cutOf(const groups::Run &run) {
  // A balanced cut depends on costs, so it is known only from a list.
  StageCut implied;
  if (!run.layout.isBalanced || run.layout.pipeline == 1)
    implied = impliedCut(run);
  if (run.stageLayers.empty() || run.stageLayers == implied.layers)
    return implied;
  return {CutKind::Listed, run.stageLayers};
}

void launch::setStageLayers(groups::Run &run, std::vector<int64_t> layers) {
  run.stageLayers.clear();
  if (layers != impliedCut(run).layers)
    run.stageLayers = std::move(layers);
}

std::string launch::stageFault(const groups::Run &run) {
  const groups::Layout &layout = run.layout;
  const int64_t stages = layout.pipeline * layout.chunks;
  if (run.stageLayers.empty()) {
    if (cutOf(run).kind != CutKind::Unknown)
      return "";
    if (layout.isBalanced)
      return "the layers are cut by costs, and the layers of the " +
             countOf(stages, "stage") + " are not listed";
    return countOf(run.model.layers, "layer") + ", or " +
           std::to_string(run.model.layers + 2) +
           " with embedding and head, do not divide into " +
           countOf(stages, "stage") +
           ", and the layers of the stages are not listed";
  }
  if (int64_t(run.stageLayers.size()) != stages)
    return "layers are listed for " +
           countOf(int64_t(run.stageLayers.size()), "stage") + ", but " +
           countOf(layout.pipeline, "rank") + " with " +
           countOf(layout.chunks, "chunk") + " each have " +
           std::to_string(stages);
  for (size_t s = 0; s < run.stageLayers.size(); ++s)
    if (run.stageLayers[s] < 0)
      return "stage " + std::to_string(s) + " has " +
             std::to_string(run.stageLayers[s]) + " layers";
  const int64_t sum = std::accumulate(run.stageLayers.begin(),
                                      run.stageLayers.end(), int64_t(0));
  if (sum != run.model.layers)
    return "the stages have " + countOf(sum, "layer") + ", but the model has " +
           std::to_string(run.model.layers);
  return "";
}
