//===- config.cpp - Fuzzes the reader of model configurations -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ModelConfig.h"
#include "test/fuzz/Target.h"

using namespace rondo;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<json::ModelConfig> config =
      json::readModelConfig(fuzz::textOf(data, size), /*sequence=*/0);
  if (!config) {
    fuzz::require(!describe(config.fault()).empty(), "an error says why");
    return 0;
  }
  fuzz::require(config->sequence >= 1 && config->sequence <= config->positions,
                "the sequence is within the positions");
  fuzz::require(config->heads % config->keyHeads == 0,
                "each key head serves as many heads");
  const groups::Transformer model = json::transformerOf(*config);
  if (model.experts) {
    fuzz::require(groups::numWeights(model) > 0, "weights fit 64 bits");
    return 0;
  }
  fuzz::require(config->window == 0 || config->sequence <= config->window,
                "the sequence is within the window");
  const json::ModelParameters parameters = json::parametersOf(*config);
  fuzz::require(parameters.embedding > 0 && parameters.block > 0 &&
                    parameters.head > 0,
                "layers have parameters");
  const int64_t most = std::max(parameters.embedding, parameters.block);
  fuzz::require(parameters.total(config->layers) > most,
                "parameters fit 64 bits");
  return 0;
}
