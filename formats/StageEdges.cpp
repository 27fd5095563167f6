//===- StageEdges.cpp - Which stages feed which ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/StageEdges.h"

#include "llvm/ADT/DenseMap.h"

using namespace rondo;

std::vector<StageEdge> rondo::stageEdgesOf(const Problem &problem) {
  std::vector<StageEdge> edges;
  llvm::DenseMap<int32_t, size_t> places;
  for (const Edge &part : problem.edges) {
    const auto [place, isNew] =
        places.try_emplace(part.stageEdge, edges.size());
    if (isNew)
      edges.push_back({problem.replicas[part.from].stage,
                       problem.replicas[part.to].stage, part.producer, 0});
    // Every micro-batch has the same bytes.
    if (problem.carries(part, 0))
      edges[place->second].bytes += part.bytes;
  }
  return edges;
}

std::vector<std::vector<int32_t>> rondo::inputsOf(const Problem &problem) {
  std::vector<std::vector<int32_t>> inputs(problem.numStages());
  for (const StageEdge &edge : stageEdgesOf(problem))
    if (edge.producer == ActionKind::Forward)
      inputs[edge.to].push_back(edge.from);
  return inputs;
}

int32_t rondo::firstOutsideChain(const Problem &problem) {
  const std::vector<std::vector<int32_t>> inputs = inputsOf(problem);
  for (int32_t s = 0; s < problem.numStages(); ++s)
    if (inputs[s] !=
        (s == 0 ? std::vector<int32_t>() : std::vector<int32_t>{s - 1}))
      return s;
  return -1;
}

std::vector<int64_t> rondo::outputBytesOf(const Problem &problem) {
  std::vector<int64_t> bytes(problem.numStages(), 0);
  for (const StageEdge &edge : stageEdgesOf(problem))
    if (edge.producer == ActionKind::Forward)
      bytes[edge.from] = edge.bytes;
  return bytes;
}
