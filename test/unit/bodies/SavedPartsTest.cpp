// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of what layers save, which copies may move to the host.

#include "LlamaModel.h"

#include "runtime/model/layer_sizes.h"
#include "runtime/model/saved_part_names.h"

namespace rondo::runtime {
namespace {

constexpr Sizes partSizes = {2, 24, 32, 4, 96, 50};

std::vector<LayerDesc> allLayers() {
  std::vector<LayerDesc> layers = gptModel(partSizes);
  for (const LayerDesc &layer :
       llamaModel({partSizes, 2, 8, true, true, false, false}))
    layers.push_back(layer);
  const size_t count = layers.size();
  for (size_t l = 0; l < count; ++l) {
    layers.push_back(layers[l]);
    layers.back().target = Target::Cuda;
    layers.back().dtype = DType::Bf16;
  }
  return layers;
}

LayerSizes sizesWith(LayerDesc layer, uint64_t parts) {
  layer.offloads = parts;
  return layerSizes(layer);
}

TEST(SavedParts, TogetherAreAllThatIsSaved) {
  for (const LayerDesc &layer : allLayers()) {
    const LayerSizes none = layerSizes(layer);
    EXPECT_EQ(none.awayForInputGrad + none.awayForWeightGrad, 0);
    int64_t forInputGrad = 0, forWeightGrad = 0;
    for (int part = 2; part < numSavedParts; ++part) {
      const uint64_t bit = uint64_t(1) << part;
      const LayerSizes one = sizesWith(layer, bit);
      const int64_t bytes = one.awayForInputGrad + one.awayForWeightGrad;
      // The parts that stay and those that leave have the bytes of all.
      EXPECT_EQ(one.savedForInputGrad, none.savedForInputGrad);
      EXPECT_EQ(one.savedForWeightGrad, none.savedForWeightGrad);
      // A kind of layer has the parts that its row names.
      EXPECT_EQ(bytes > 0, (savedPartsOf(layer.kind) & bit) != 0)
          << layer.name << " " << savedPartNames[part];
      forInputGrad += one.awayForInputGrad;
      forWeightGrad += one.awayForWeightGrad;
    }
    EXPECT_EQ(forInputGrad, none.savedForInputGrad) << layer.name;
    EXPECT_EQ(forWeightGrad, none.savedForWeightGrad) << layer.name;
    const LayerSizes all = sizesWith(layer, allSavedParts);
    EXPECT_EQ(all.awayForInputGrad, none.savedForInputGrad);
    EXPECT_EQ(all.awayForWeightGrad, none.savedForWeightGrad);
    const LayerSizes half = sizesWith(layer, bitOf(Part::ForInputGrad));
    EXPECT_EQ(half.awayForInputGrad, none.savedForInputGrad);
    EXPECT_EQ(half.awayForWeightGrad, 0);
  }
}

TEST(SavedParts, HaveOffsetsOfTheirOwn) {
  LayerDesc layer = gptLayer(LayerKind::GptBlock, "h0", partSizes);
  const BlockSavedForW all(layer);
  layer.offloads = bitOf(Part::Qkv) | bitOf(Part::Activation);
  const BlockSavedForW split(layer);
  EXPECT_EQ(split.qkv, inAway);
  EXPECT_EQ(split.afterGelu, inAway + (all.attention - all.qkv));
  EXPECT_EQ(split.normal1, 0);
  EXPECT_EQ(split.attention, all.qkv);
  EXPECT_EQ(findSavedPart("qkv"), bitOf(Part::Qkv));
  EXPECT_EQ(findSavedPart("keys"), 0u);
}

TEST(SavedParts, ChangeOnlyPlaces) {
  // Every task of a block, with a part in memory of its own.
  for (const uint64_t parts :
       {bitOf(Part::Qkv) | bitOf(Part::Ffn),
        bitOf(Part::Statistics) | bitOf(Part::Activation), allSavedParts}) {
    std::vector<std::vector<float>> results;
    for (const uint64_t offloads : {uint64_t(0), parts}) {
      LayerDesc layer = gptLayer(LayerKind::GptBlock, "h0", partSizes);
      layer.offloads = offloads;
      layer.numInputs = 1;
      const LayerSizes bytes = layerSizes(layer);
      layer.inputBytes[0] = bytes.input;
      HostileBuffer<float> weights(bytes.weights), gradients(bytes.gradients),
          input(bytes.input), output(bytes.output), outputGrad(bytes.output),
          inputGrad(bytes.input), workspace(bytes.workspace),
          forI(bytes.savedForInputGrad - bytes.awayForInputGrad),
          forW(bytes.savedForWeightGrad - bytes.awayForWeightGrad),
          awayForI(bytes.awayForInputGrad), awayForW(bytes.awayForWeightGrad);
      for (int64_t i = 0; i < weights.size(); ++i)
        weights.get()[i] = float(uniform(1, i)) / 8;
      for (int64_t i = 0; i < input.size(); ++i) {
        input.get()[i] = float(uniform(2, i));
        outputGrad.get()[i] = float(uniform(3, i));
      }
      gradients.fill(0);
      LayerArgs args{};
      args.weights = weights.get();
      args.gradients = gradients.get();
      args.savedForInputGrad = forI.get();
      args.savedForWeightGrad = forW.get();
      args.awayForInputGrad = awayForI.get();
      args.awayForWeightGrad = awayForW.get();
      args.inputs[0] = input.get();
      args.output = output.get();
      args.outputGrad = outputGrad.get();
      args.inputGrads[0] = inputGrad.get();
      args.workspace = workspace.get();
      args.lossScale = 1;
      const LayerBody &body = cpuBody(layer.kind);
      body.forward(&layer, &args);
      body.inputGrad(&layer, &args);
      body.weightGrad(&layer, &args);
      results.emplace_back(output.get(), output.get() + output.size());
      std::vector<float> &all = results.back();
      all.insert(all.end(), inputGrad.get(),
                 inputGrad.get() + inputGrad.size());
      all.insert(all.end(), gradients.get(),
                 gradients.get() + gradients.size());
    }
    EXPECT_EQ(results[0], results[1]) << parts;
  }
}

} // namespace
} // namespace rondo::runtime
