//===- GivenCuts.h - Stages as people write them ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_GIVENCUTS_H
#define RONDO_PLANNING_MODEL_GIVENCUTS_H

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace rondo {

/// Where each stage begins, by place of its first layer; or what is wrong, in
/// one sentence. Every layer is in one stage, and every stage has a layer.
using GivenCut = std::variant<std::vector<int32_t>, std::string>;

/// Stages of so many layers.
GivenCut cutByCounts(const std::vector<int64_t> &counts, int32_t layers);

/// Stages whose work is in proportion to the weights as nearly as whole layers
/// allow: each border is where the work before it is nearest to its share.
/// `workNs` is by layer.
GivenCut cutByWeights(const std::vector<int64_t> &weights,
                      const std::vector<int64_t> &workNs);

/// A layout without repetitions, commas and blanks: E, t, m, L and |. `fault`
/// is what is wrong with its form, in one sentence, else empty.
struct LayoutLetters {
  std::string letters, fault;
  /// Its form is one that Megatron-LM refuses: blanks or line breaks, an empty
  /// group, or a group without a number.
  bool isLoose = false;
};
/// `mayPredict`: whether there may be m, layers of multi-token prediction.
LayoutLetters expandLayout(const std::string &layout, bool mayPredict);

/// Stages of a string as Megatron-LM's --pipeline-model-parallel-layout takes:
/// `E` the embedding, `t` a block, `L` the head, `|` between stages, `x*3` and
/// `(...)*3` for repetition, commas and blanks for nothing. `blocks` are those
/// between the embedding and the head.
GivenCut cutByLayout(const std::string &layout, int32_t blocks);

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_GIVENCUTS_H
