// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tensors of custom layers: what a program refuses at start, and how it
// takes them.

#include "CustomLayer.h"

#include "runtime/bodies/tensors.h"
#include "runtime/model/stage_sizes.h"

namespace rondo::runtime {
namespace {

TEST_F(Custom, NamesOfTensors) {
  const std::vector<LayerTensor> tensors = layerTensors(layer);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensorName(tensors[0]), "mix.matrix");
  EXPECT_EQ(tensors[0].count, 32);
  EXPECT_TRUE(tensors[0].decay);
  EXPECT_EQ(tensors[1].count, 20);
  EXPECT_EQ(shapeOf(tensors[1]), (std::vector<int64_t>{20}));
  EXPECT_FALSE(tensors[1].decay);
  EXPECT_EQ(tensors[1].init, TensorInit::Ones);
}

TEST_F(Custom, TensorsLieInTheWeights) {
  answers.tensors[1].shape[0] = 33;
  EXPECT_EQ(error(), "layer 'mix': tensor 'vector' of body 'mixer' at element "
                     "32 ends past the 64 of the weights");
  answers.tensors[1].shape[0] = INT64_MAX;
  EXPECT_NE(error().find("ends past"), std::string::npos) << error();
  answers.tensors[1] = {"vector", 2, {8, INT64_MAX}, 32, RONDO_INIT_ONES, 0, 0};
  EXPECT_NE(error().find("ends past"), std::string::npos) << error();
}

TEST_F(Custom, TensorsDoNotOverlap) {
  answers.tensors[1].offset = 16;
  EXPECT_EQ(error(), "layer 'mix': tensors 'matrix' and 'vector' of body "
                     "'mixer' overlap");
}

TEST_F(Custom, TensorsCoverTheWeights) {
  // Elements 24 to 31 and 52 to 63 are padding.
  answers.tensors[0].shape[1] = 3;
  answers.tensors[1].offset = 32;
  EXPECT_EQ(error(), "");
  // The matrix ends at 16, the vector begins at 32.
  answers.tensors[0].shape[1] = 2;
  EXPECT_EQ(error(),
            "layer 'mix': no tensor of body 'mixer' covers 16 of the 64 "
            "weights, from element 16 on: nothing would initialise, train or "
            "save them");
  answers.tensors.clear();
  EXPECT_NE(error().find("covers 64 of the 64 weights, from element 0 on"),
            std::string::npos)
      << error();
  answers.tensors = {{"end", 1, {10, 0}, 16, RONDO_INIT_ONES, 0, 0}};
  EXPECT_NE(error().find("covers 48 of the 64 weights, from element 0 on"),
            std::string::npos)
      << error();
  layer.weightBytes = answers.sizes.weight_bytes = 0;
  answers.tensors.clear();
  EXPECT_EQ(error(), "");
}

TEST_F(Custom, TensorsHaveANumber) {
  answers.count = -1;
  EXPECT_EQ(error(), "layer 'mix': `tensors` of body 'mixer' returns -1, not a "
                     "number of tensors");
}

TEST_F(Custom, TensorsHaveNamesOfTheirOwn) {
  answers.tensors[1].name = "matrix";
  EXPECT_EQ(error(), "layer 'mix': body 'mixer' has two tensors named "
                     "'matrix'; a checkpoint finds tensors by name");
}

TEST_F(Custom, Tensors) {
  answers.tensors[1].offset = 40;
  EXPECT_EQ(error(), "layer 'mix': tensor 'vector' of body 'mixer' begins at "
                     "element 40, which is not a multiple of 16");
  answers.tensors[1].offset = 32;
  answers.tensors[1].init = 5;
  EXPECT_EQ(error(), "layer 'mix': tensor 'vector' of body 'mixer' has init 5, "
                     "which is not one of RONDO_INIT_...");
  answers.tensors[1].init = 0;
  answers.tensors[1].num_dims = 3;
  EXPECT_EQ(error(), "layer 'mix': tensor 'vector' of body 'mixer' has a shape "
                     "that is not 1 to 8 sizes of at least 1");
  answers.tensors[1].num_dims = 9;
  EXPECT_NE(error().find("not 1 to 8 sizes"), std::string::npos) << error();
  answers.tensors[1].num_dims = 1;
  answers.tensors[0].name = "";
  EXPECT_EQ(error(), "layer 'mix': body 'mixer' has a tensor without a name");
}

TEST_F(Custom, NumberOfTensors) {
  static const char *const names[] = {"a", "b", "c", "d", "e", "f",
                                      "g", "h", "i", "j", "k", "l",
                                      "m", "n", "o", "p", "q"};
  layer.weightBytes = answers.sizes.weight_bytes = 17 * 64;
  answers.tensors.clear();
  for (int64_t t = 0; t < 17; ++t)
    answers.tensors.push_back({names[t], 1, {16}, 16 * t, 0, 0, 0});
  EXPECT_EQ(error(), "layer 'mix': the model states no number of tensors, so "
                     "that there may be 16, but body 'mixer' has 17: write "
                     "tensors = 17 into the model and compile it again");
  layer.custom.numTensors = 18;
  EXPECT_EQ(error(), "layer 'mix': the program was compiled for tensors = 18, "
                     "but body 'mixer' has 17: write tensors = 17 into the "
                     "model and compile it again");
  layer.custom.numTensors = 17;
  EXPECT_EQ(error(), "");
  EXPECT_EQ(layerTensors(layer).size(), 17u);
  // A place for the norm of each.
  EXPECT_EQ(partialsOf(&layer, 1), 32);
  layer.custom.numTensors = 0;
  EXPECT_EQ(partialsOf(&layer, 1), 16);
}

TEST_F(Custom, TensorsHaveUpToEightDimensions) {
  answers.tensors[0] = {"matrix", 8, {1, 2, 1, 2, 2, 1, 2, 2}, 0, 0, 0, 0};
  EXPECT_EQ(error(), "");
  const LayerTensor tensor = layerTensors(layer)[0];
  EXPECT_EQ(shapeOf(tensor), (std::vector<int64_t>{1, 2, 1, 2, 2, 1, 2, 2}));
  EXPECT_EQ(tensor.count, 32);
  answers.tensors[0].shape[0] = INT64_MAX;
  EXPECT_NE(error().find("ends past"), std::string::npos) << error();
}

TEST_F(Custom, FrozenTensorsAreTheLast) {
  layer.custom.frozenBytes = 128;
  EXPECT_EQ(error(), "layer 'mix': the program was compiled for "
                     "frozen_weight_bytes = 128, but body 'mixer' needs "
                     "frozen_weight_bytes = 0: write that into the model and "
                     "compile it again");
  answers.sizes.frozen_weight_bytes = 128;
  EXPECT_EQ(error(), "layer 'mix': tensor 'vector' of body 'mixer' at element "
                     "32 is trained, but lies in the frozen part of the "
                     "weights, which begins at element 32");
  answers.tensors[1].frozen = 1;
  EXPECT_EQ(error(), "");
  EXPECT_EQ(layerSizes(layer).weights, 256);
  EXPECT_EQ(layerSizes(layer).gradients, 128);
  EXPECT_FALSE(layerTensors(layer)[0].isFrozen);
  EXPECT_TRUE(layerTensors(layer)[1].isFrozen);
  answers.tensors[0].frozen = 1;
  EXPECT_EQ(error(), "layer 'mix': tensor 'matrix' of body 'mixer' at element "
                     "0 is frozen, but the frozen part of the weights begins "
                     "at element 32");
}

TEST_F(Custom, RunningTensorsAreFrozen) {
  layer.custom.frozenBytes = answers.sizes.frozen_weight_bytes = 128;
  answers.tensors[1].frozen = RONDO_RUNNING;
  EXPECT_EQ(error(), "");
  EXPECT_TRUE(layerTensors(layer)[1].isFrozen);
  EXPECT_EQ(tensorName(*findRunning(layer)), "mix.vector");
  answers.tensors[1].frozen = RONDO_FROZEN;
  EXPECT_FALSE(findRunning(layer));
  answers.tensors[1].frozen = 3;
  EXPECT_EQ(error(), "layer 'mix': tensor 'vector' of body 'mixer' has frozen "
                     "= 3, which is not 0, RONDO_FROZEN or RONDO_RUNNING");
  answers.tensors[1].frozen = RONDO_RUNNING;
  layer.target = Target::Cuda;
  body.cuda = body.cpu;
  EXPECT_EQ(error(), "layer 'mix': tensor 'vector' of body 'mixer' is running, "
                     "and F replaces tensors on a CPU only: compile the "
                     "program for target cpu");
}

TEST_F(Custom, TheFirstAndTheLastLayerOfATiedModelShareATensor) {
  layer.tied = true;
  layer.vocab = 8;
  layer.hidden = 4;
  // Layers between them have nothing to do with it.
  EXPECT_EQ(error(), "");
  const std::string what = "layer 'mix': its model has tied = true, so that "
                           "the first and the last layer share the tensor "
                           "'wte.weight', ";
  layer.custom.data = LayerData::Tokens;
  EXPECT_EQ(error(), what + "which body 'mixer' does not have");
  answers.tensors[0].name = "wte.weight";
  EXPECT_EQ(error(), "");
  EXPECT_EQ(tensorName(layerTensors(layer)[0]), "wte.weight");
  EXPECT_EQ(layerTensors(layer)[0].sharedWith, nullptr);
  EXPECT_EQ(tensorName(layerTensors(layer)[1]), "mix.vector");
  layer.custom.data = LayerData::Targets;
  EXPECT_STREQ(layerTensors(layer)[0].sharedWith, "wte.weight");
  EXPECT_EQ(layerTensors(layer)[1].sharedWith, nullptr);
  answers.tensors[0].decay = 0;
  const std::string not8x4 = what + "but that of body 'mixer' is not a trained "
                                    "matrix of vocab = 8 rows and hidden = 4 "
                                    "columns with decay";
  EXPECT_EQ(error(), not8x4);
  answers.tensors[0].decay = 1;
  answers.tensors[0].shape[0] = 4;
  answers.tensors[0].shape[1] = 8;
  EXPECT_EQ(error(), not8x4);
  layer.tied = false;
  EXPECT_EQ(error(), "");
  EXPECT_EQ(tensorName(layerTensors(layer)[0]), "mix.wte.weight");
}

} // namespace
} // namespace rondo::runtime
