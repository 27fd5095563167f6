//===- PlanShape.cpp - Placements of a model ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/PlanShape.h"

#include <algorithm>

using namespace rondo;

std::string PlanShape::text() const {
  constexpr const char *names[] = {"as written", "linear", "interleaved", "v",
                                   "wave"};
  std::string text = names[static_cast<int>(placing)];
  if (placing == Placing::Interleaved || placing == Placing::Wave)
    text += " v=" + std::to_string(chunks);
  text += " m=" + std::to_string(microbatches);
  return recomputed == 0
             ? text
             : text + ", first " + std::to_string(recomputed) + " recompute";
}

void rondo::appendRecomputed(std::vector<PlanShape> &shapes, int64_t ranks,
                             int64_t written) {
  for (size_t i = 0, count = shapes.size(); i < count; ++i) {
    PlanShape shape = shapes[i];
    const int64_t stages = shape.placing == Placing::AsWritten
                               ? written
                               : ranks * shape.chunks,
                  steps = std::min(stages, maxRecomputed);
    for (int64_t step = 1; step <= steps; ++step) {
      shape.recomputed = static_cast<int32_t>(stages * step / steps);
      shapes.push_back(shape);
    }
  }
}

/// Whether a placing may have this many chunks per rank. `hasV`: V is among the
/// placings, so a wave of two chunks would be a duplicate.
static bool canHave(Placing placing, int32_t chunks, bool hasV) {
  switch (placing) {
  case Placing::AsWritten:
    return false;
  case Placing::Linear:
    return chunks == 1;
  case Placing::Interleaved:
    return chunks > 1;
  case Placing::V:
    return chunks == 2;
  case Placing::Wave:
    return chunks % 2 == 0 && !(chunks == 2 && hasV);
  }
  return false;
}

std::vector<PlanShape> rondo::shapesOf(const ShapeChoice &choice, int64_t ranks,
                                       int64_t microbatches) {
  std::vector<Placing> placings = choice.placings;
  if (placings.empty() && !choice.onlyAsWritten)
    placings = {Placing::Linear, Placing::Interleaved, Placing::V,
                Placing::Wave};
  std::vector<int32_t> counts = choice.chunks;
  if (counts.empty())
    counts = {1, 2, 3, 4};
  std::vector<int64_t> sizes = choice.microbatches;
  if (sizes.empty())
    sizes = {microbatches};
  const bool hasV =
      std::find(placings.begin(), placings.end(), Placing::V) != placings.end();
  std::vector<PlanShape> shapes;
  for (int64_t size : sizes) {
    if (choice.placings.empty() && choice.chunks.empty())
      shapes.push_back({Placing::AsWritten, 0, size});
    for (Placing placing : placings)
      for (int32_t count : counts)
        if (canHave(placing, count, hasV) && (ranks > 1 || count == 1))
          shapes.push_back({placing, count, size});
  }
  return shapes;
}
