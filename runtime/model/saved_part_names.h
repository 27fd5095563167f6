//===- saved_part_names.h - Names of parts that layers save -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For the compiler: programs know parts by number (model/saved_parts.h).
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_SAVED_PART_NAMES_H
#define RONDO_RUNTIME_MODEL_SAVED_PART_NAMES_H

#include "runtime/model/saved_parts.h"

#include <cstring>

namespace rondo::runtime {

/// In the order of Part.
inline constexpr const char *savedPartNames[] = {
    "saved_for_input_grad",
    "saved_for_weight_grad",
    "statistics", // what norms and attention keep of each token
    "head_norms", // heads of q and k before their norms
    "norm1",
    "qkv",
    "attention", // its output
    "norm2",
    "ffn",        // the input of the activation function, or its slope
    "activation", // its output, which only W reads
    "norm",
    "logits",
    "tokens",
    "gradients", // space that I fills for W
};
inline constexpr int numSavedParts =
    sizeof savedPartNames / sizeof *savedPartNames;
static_assert(numSavedParts == static_cast<int>(Part::Gradients) + 1,
              "a part is the number of its name");

/// The set of the part of this name; 0: no part has it.
inline uint64_t findSavedPart(const char *name) {
  for (int part = 0; part < numSavedParts; ++part)
    if (std::strcmp(savedPartNames[part], name) == 0)
      return uint64_t(1) << part;
  return 0;
}

/// The parts that layers of a kind have in addition to the first two. Custom
/// layers list theirs.
constexpr uint64_t savedPartsOf(LayerKind kind) {
  switch (kind) {
  case LayerKind::GptEmbedding:
  case LayerKind::LlamaEmbedding:
    return bitOf(Part::Tokens) | bitOf(Part::Gradients);
  case LayerKind::LlamaBlock:
    return savedPartsOf(LayerKind::GptBlock) | bitOf(Part::HeadNorms);
  case LayerKind::GptBlock:
    return bitOf(Part::Statistics) | bitOf(Part::Norm1) | bitOf(Part::Qkv) |
           bitOf(Part::Attention) | bitOf(Part::Norm2) | bitOf(Part::Ffn) |
           bitOf(Part::Activation) | bitOf(Part::Gradients);
  case LayerKind::GptHead:
  case LayerKind::LlamaHead:
    return bitOf(Part::Statistics) | bitOf(Part::Norm) | bitOf(Part::Logits) |
           bitOf(Part::Gradients);
  case LayerKind::Synthetic:
  case LayerKind::Custom:
    return 0;
  }
  return 0;
}

/// The saved parts of layers of a GPT or a Llama that only W reads.
inline constexpr uint64_t onlyForWeightGrad =
    bitOf(Part::Activation) | bitOf(Part::Tokens);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_SAVED_PART_NAMES_H
