//===- Layout.cpp - Rules of layouts, and their even cuts -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/groups/Layout.h"

#include <algorithm>
#include <iterator>

namespace rondo::groups {

int64_t Layout::microbatches() const {
  const int64_t samples = data * microbatch;
  return std::max<int64_t>(1, (globalBatch + samples - 1) / samples);
}

std::string Layout::text() const {
  std::string text;
  auto add = [&text](const char *name, int64_t degree) {
    if (degree == 1)
      return;
    text += (text.empty() ? "" : ", ") + std::string(name) + " " +
            std::to_string(degree);
  };
  add("tp", tensor);
  add("cp", context);
  add("ep", expert);
  add("pp", pipeline);
  if (chunks > 1)
    text += " x " + std::to_string(chunks);
  add("dp", data);
  return text.empty() ? "one device" : text;
}

namespace {

/// `N of X do not divide by M of Y`, or nothing.
std::string indivisible(int64_t number, const char *what, int64_t by,
                        const char *unit) {
  if (number % by == 0)
    return "";
  return std::to_string(number) + " " + what + " do not divide into " +
         std::to_string(by) + " " + unit;
}

std::string pipelineFault(const Transformer &model, const Layout &layout) {
  const int64_t microbatches = layout.microbatches();
  if (layout.chunks > 1 && layout.pipeline < 2)
    return "chunks need a pipeline of 2 ranks or more";
  // Interleaved schedules take micro-batches in rounds of the pipeline's ranks.
  if (layout.chunks > 1 &&
      (microbatches < layout.pipeline || microbatches % layout.pipeline != 0))
    return std::to_string(microbatches) + " micro-batches of a replica; " +
           std::to_string(layout.pipeline) +
           " ranks with several chunks need a multiple of as many";
  const int64_t stages = layout.pipeline * layout.chunks;
  if (layout.isBalanced && stages > model.layers + 2)
    return std::to_string(stages) + " stages for " +
           std::to_string(model.layers) +
           " layers, an embedding and a head leave some without any";
  if (!layout.isBalanced && model.layers % stages != 0 &&
      (model.layers + 2) % stages != 0)
    return std::to_string(model.layers) + " layers, or " +
           std::to_string(model.layers + 2) +
           " with embedding and head, do not divide into " +
           std::to_string(stages) + " stages";
  if (layout.zero == 3 && layout.pipeline > 1)
    return "a pipeline of ranks that share weights gathers them for each "
           "micro-batch; stacks refuse it";
  return "";
}

} // namespace

std::string fault(const Transformer &model, const Layout &layout) {
  const bool copiesKeys =
      model.keyHeads > 0 && layout.tensor % model.keyHeads == 0;
  const std::string faults[] = {
      indivisible(model.heads, "heads", layout.tensor,
                  "devices of a tensor group"),
      copiesKeys ? ""
                 : indivisible(model.keyHeads, "heads of keys", layout.tensor,
                               "devices of a tensor group"),
      indivisible(model.ffn, "columns of the feed-forward part", layout.tensor,
                  "devices of a tensor group"),
      layout.context == 1
          ? ""
          : indivisible(model.sequence, "tokens", 2 * layout.context,
                        "parts, two a device of a context "
                        "group"),
      !layout.sequenceParallel
          ? ""
          : indivisible(model.sequence, "tokens",
                        layout.tensor * layout.context,
                        "parts, one a device of the tensor and context groups"),
      layout.expert == 1 || model.experts
          ? ""
          : "an expert group of " + std::to_string(layout.expert) +
                " devices needs a model with experts",
      indivisible(layout.globalBatch, "samples",
                  layout.data * layout.microbatch,
                  "samples of all replicas' micro-batches"),
      layout.expert == 1 || !model.experts
          ? ""
          : indivisible(model.experts->count, "experts", layout.expert,
                        "devices of an expert group"),
      layout.expert == 1
          ? ""
          : indivisible(layout.data * layout.context * layout.tensor,
                        "devices of a pipeline rank", layout.expert,
                        "devices of an expert group"),
      pipelineFault(model, layout)};
  const auto *first =
      std::find_if(std::begin(faults), std::end(faults),
                   [](const std::string &text) { return !text.empty(); });
  return first == std::end(faults) ? "" : *first;
}

Execution effective(Execution execution, const Layout &layout) {
  execution.overlapsTensor &= layout.tensor > 1 && layout.sequenceParallel;
  execution.overlapsExperts &= layout.expert > 1 &&
                               (layout.pipeline == 1 || layout.chunks > 1) &&
                               layout.recompute == Recompute::None;
  return execution;
}

std::vector<RankLayers> layersOfRanks(const Transformer &model,
                                      const Layout &layout) {
  const int64_t layers = model.layers, ranks = layout.pipeline;
  std::vector<int64_t> counts(static_cast<size_t>(ranks), layers / ranks);
  if (ranks > 1 && layers % ranks != 0) {
    if ((layers + 2) % ranks == 0) {
      std::fill(counts.begin(), counts.end(), (layers + 2) / ranks);
      --counts.front();
      --counts.back();
    } else {
      // The first rank has the embedding: it gets none of the remainder.
      for (int64_t i = 1; i <= layers % ranks; ++i)
        ++counts[static_cast<size_t>(i)];
    }
  }
  std::vector<RankLayers> result;
  int64_t first = 0;
  for (int64_t count : counts) {
    const int64_t dense =
        std::clamp<int64_t>(model.numDense() - first, 0, count);
    result.push_back({dense, count - dense});
    first += count;
  }
  return result;
}

} // namespace rondo::groups
