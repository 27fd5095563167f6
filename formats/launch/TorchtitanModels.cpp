//===- TorchtitanModels.cpp - Configurations of torchtitan ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/launch/TorchtitanModels.h"

#include <tuple>

using namespace rondo;
using namespace rondo::launch;
using namespace rondo::groups;

namespace {

Transformer dense(int64_t layers, int64_t hidden, int64_t heads,
                  int64_t keyHeads, int64_t width, int64_t ffn) {
  Transformer model;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = heads;
  model.keyHeads = keyHeads;
  model.queryWidth = model.valueWidth = width;
  model.ffn = ffn;
  model.isGated = true;
  return model;
}

TorchtitanModel entry(const char *module, const char *config, Transformer sizes,
                      int64_t vocab, int64_t sequence) {
  TorchtitanModel model;
  model.module = module;
  model.config = config;
  model.sizes = std::move(sizes);
  model.sizes.vocab = vocab;
  model.sizes.sequence = sequence;
  return model;
}

std::vector<TorchtitanModel> llama3() {
  auto add = [](const char *config, Transformer sizes, int64_t localBatch) {
    TorchtitanModel model = entry("llama3", config, std::move(sizes), 128256,
                                  /*sequence=*/8192);
    model.localBatch = localBatch;
    return model;
  };
  const Transformer of8B = dense(32, 4096, 32, 8, 128, 14336);
  TorchtitanModel debug =
      entry("llama3", "llama3_debugmodel", dense(6, 256, 16, 16, 16, 768), 2048,
            /*sequence=*/2048);
  debug.isInterleaved = true;
  TorchtitanModel mx = add("llama3_8b_mxfp8", of8B, 1);
  mx.precision = Precision::MxFp8;
  mx.isCompiled = true;
  TorchtitanModel of70B =
      add("llama3_70b", dense(80, 8192, 64, 8, 128, 28672), 8);
  of70B.tensor = 8;
  of70B.recompute = Recompute::Full;
  TorchtitanModel of405B =
      add("llama3_405b", dense(126, 16384, 128, 8, 128, 53248), 2);
  of405B.tensor = 8;
  of405B.recompute = Recompute::Full;
  of405B.precision = Precision::Fp8;
  of405B.isCompiled = of405B.overlapsTensor = true;
  return {debug, add("llama3_8b", of8B, 1), mx, of70B, of405B};
}

std::vector<TorchtitanModel> qwen3() {
  auto add = [](const char *config, Transformer sizes, int64_t localBatch) {
    TorchtitanModel model = entry("qwen3", config, std::move(sizes), 151936,
                                  /*sequence=*/4096);
    model.localBatch = localBatch;
    model.maxSequence = 40960;
    return model;
  };
  TorchtitanModel smallest =
      add("qwen3_0_6b", dense(28, 1024, 16, 8, 128, 3072), 4);
  TorchtitanModel small =
      add("qwen3_1_7b", dense(28, 2048, 16, 8, 128, 6144), 4);
  smallest.sizes.isTied = small.sizes.isTied = true;
  TorchtitanModel of14B =
      add("qwen3_14b", dense(40, 5120, 40, 8, 128, 17408), 4);
  TorchtitanModel of32B =
      add("qwen3_32b", dense(64, 5120, 64, 8, 128, 25600), 2);
  Transformer sizes = dense(48, 2048, 32, 4, 128, 0);
  sizes.experts = Experts{128, 8, 768, 0, 0};
  TorchtitanModel mixed = add("qwen3_30b_a3b", sizes, 2);
  of14B.recompute = of32B.recompute = mixed.recompute = Recompute::Full;
  return {smallest, small, of14B, of32B, mixed};
}

std::vector<TorchtitanModel> deepseek() {
  Transformer sizes = dense(61, 7168, 128, 128, 192, 18432);
  sizes.valueWidth = 128;
  sizes.latent = LatentAttention{1536, 512, 64};
  sizes.experts = Experts{256, 8, 2048, 1, 3};
  TorchtitanModel model =
      entry("deepseek_v3", "deepseek_v3_671b", sizes, 129280,
            /*sequence=*/4096);
  model.localBatch = 4;
  model.expert = 2;
  model.isInterleaved = model.isCompiled = model.disablesGraphs = true;
  model.maxSequence = 16384;
  TorchtitanModel narrow = model;
  narrow.config = "deepseek_v3_671b_float8";
  narrow.precision = Precision::Fp8;
  return {model, narrow};
}

std::vector<TorchtitanModel> allModels() {
  std::vector<TorchtitanModel> all;
  for (const auto &family : {llama3(), qwen3(), deepseek()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

/// Sizes without the sequence.
auto sizesOf(const Transformer &model) {
  const Experts experts = model.experts.value_or(Experts());
  const LatentAttention latent = model.latent.value_or(LatentAttention());
  return std::make_tuple(
      model.layers, model.hidden, model.heads, model.keyHeads, model.queryWidth,
      model.valueWidth, model.numDense() > 0 ? model.ffn : 0, model.isGated,
      model.vocab, model.isTied, model.extraPredictions,
      model.windowedLayers > 0 ? model.window : 0, experts.count,
      experts.perToken, experts.ffn, experts.shared, experts.denseLayers,
      model.latent.has_value(), latent.queryRank, latent.keyRank,
      latent.rotaryWidth);
}

} // namespace

llvm::ArrayRef<TorchtitanModel> launch::torchtitanModels() {
  static const std::vector<TorchtitanModel> models = allModels();
  return models;
}

bool launch::haveSameLayers(const Transformer &a, const Transformer &b) {
  return sizesOf(a) == sizesOf(b);
}
