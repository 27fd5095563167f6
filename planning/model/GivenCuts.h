//===- GivenCuts.h - Stages given by users ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_GIVENCUTS_H
#define RONDO_PLANNING_MODEL_GIVENCUTS_H

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace rondo {

/// The first layer of each stage; or what is wrong, in one sentence. Every
/// layer is in one stage, and every stage has a layer.
using GivenCut = std::variant<std::vector<int32_t>, std::string>;

/// Stages with these numbers of layers.
GivenCut cutByCounts(const std::vector<int64_t> &counts, int32_t layers);

/// Stages with work in proportion to the weights, as nearly as whole layers
/// allow: each boundary is where the work before it is closest to its share.
/// `workNs` is indexed by layer.
GivenCut cutByWeights(const std::vector<int64_t> &weights,
                      const std::vector<int64_t> &workNs);

/// A layout with repetitions expanded and without commas and blanks: E, t, m, L
/// and |. `fault` is what is wrong with its syntax, in one sentence; empty if
/// nothing is.
struct LayoutLetters {
  std::string letters, fault;
  /// Whether Megatron-LM rejects the syntax: blanks or line breaks, an empty
  /// group, or a group without a number.
  bool isLoose = false;
};
/// `mayPredict`: whether m, a layer of multi-token prediction, is allowed.
LayoutLetters expandLayout(const std::string &layout, bool mayPredict);

/// Stages of a string in the syntax of Megatron-LM's
/// --pipeline-model-parallel-layout: `E` the embedding, `t` a block, `L` the
/// head, `|` between stages, `x*3` and `(...)*3` for repetition. Commas and
/// blanks are ignored. `blocks` is the number of layers between the embedding
/// and the head.
GivenCut cutByLayout(const std::string &layout, int32_t blocks);

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_GIVENCUTS_H
