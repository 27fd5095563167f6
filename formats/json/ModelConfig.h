//===- ModelConfig.h - Hugging Face configurations --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A `config.json` as the sizes of a model that Rondo trains. What a key means
// is a row of the tables in ModelTypes.cpp. A key in no table, or a value that
// Rondo cannot do, is an error: nothing that changes the model is passed over.
// A key in no table that is null or false changes nothing: a note names it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_MODELCONFIG_H
#define RONDO_FORMATS_JSON_MODELCONFIG_H

#include "planning/groups/Transformer.h"
#include "schedule/model/Fault.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::json {

/// The layers that Rondo has; of layers with experts it has costs alone.
enum class Architecture : uint8_t { Gpt, Llama, Experts };

/// Scaling of the angles of rotary positions beyond the positions that
/// the model was first trained with.
struct RopeScaling {
  enum Kind : uint8_t { None, Llama3 };
  Kind kind = None;
  double factor = 1, lowFrequencyFactor = 1, highFrequencyFactor = 4;
  int64_t originalPositions = 0;
};

struct ModelConfig {
  Architecture architecture = Architecture::Gpt;
  /// `model_type`, such as "gpt2".
  std::string type;
  int64_t vocab = 0, hidden = 0, layers = 0, heads = 0, ffn = 0;
  /// The most positions that the model was made for.
  int64_t positions = 0;
  /// Tokens that attention reaches back; 0: to the first token. Once read, 0
  /// also if no layer has the window.
  int64_t window = 0;
  bool usesWindow = true;
  /// Layers with the window; they may be all if `window` is 0.
  int64_t windowedLayers = 0;
  /// The first layers, whose attention reaches to the first token.
  int64_t fullLayers = 0;
  bool tied = false;
  double normEpsilon = 0;

  // llama
  int64_t keyHeads = 0, headWidth = 0;
  bool qkvBias = false, headNorm = false;
  double ropeTheta = 10000;
  RopeScaling ropeScaling;

  // experts
  int64_t experts = 0, expertsPerToken = 0, expertFfn = 0, sharedExperts = 0;
  /// The first layers, which have an ordinary feed-forward part.
  int64_t denseLayers = 0;
  /// Widths of narrower products of queries and keys, and of the parts of a
  /// head. 0: attention has none.
  int64_t queryRank = 0, keyRank = 0, rotaryWidth = 0, plainWidth = 0,
          valueWidth = 0;
  /// Layers after the last one that predict further tokens.
  int64_t extraPredictions = 0;

  /// Tokens of a sample: what was asked for, or the default.
  int64_t sequence = 0;
  /// Differences between Rondo and the file, each with its place.
  std::vector<std::string> warnings;
};

/// The sizes that costs depend on.
groups::Transformer transformerOf(const ModelConfig &config);

/// Parameters of the layers by the definition of the model type, which has no
/// experts; what is tied counts in the embedding. Rondo's layers must have the
/// same number.
struct ModelParameters {
  int64_t embedding = 0, block = 0, head = 0;
  int64_t total(int64_t blocks) const {
    return embedding + blocks * block + head;
  }
};
ModelParameters parametersOf(const ModelConfig &config);

/// The default sequence is the model's positions, or its window, but at most
/// this: memory grows with the sequence, and few train with more.
inline constexpr int64_t maxDefaultSequence = 4096;

/// Reads a configuration for samples of `sequence` tokens; 0: the default. The
/// error is one sentence, with line and column if it is about a value.
Result<ModelConfig> readModelConfig(llvm::StringRef text, int64_t sequence);

/// The values of `model_type` that can be read.
std::vector<llvm::StringRef> modelTypeNames();

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_MODELCONFIG_H
