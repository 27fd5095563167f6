// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a program refuses of a custom layer at start, and the sizes it takes.

#include "CustomLayer.h"

#include "runtime/model/documents.h"
#include "runtime/model/share.h"
#include "runtime/model/stage_sizes.h"

namespace rondo::runtime {
namespace {

TEST_F(Custom, ALayerThatFitsIsTaken) { EXPECT_EQ(error(), ""); }

TEST_F(Custom, SizesAreThoseOfTheLayer) {
  const LayerSizes sizes = layerSizes(layer);
  EXPECT_EQ(sizes.weights, 256);
  EXPECT_EQ(sizes.gradients, 256);
  EXPECT_EQ(sizes.savedForInputGrad, 64);
  EXPECT_EQ(sizes.savedForWeightGrad, 128);
  EXPECT_EQ(sizes.input, 192 + 64);
  EXPECT_EQ(sizes.output, 192);
  EXPECT_EQ(sizes.keptForWeightGrad, 448);
  EXPECT_EQ(sizes.workspace, 384);
  layer.custom.backwardWorkspaceBytes = 0;
  EXPECT_EQ(layerSizes(layer).workspace, 320);
  EXPECT_EQ(sizes.data, 0);
}

TEST_F(Custom, AShareHasTheSizesOfItsSamples) {
  layer.batch = 4;
  layer.custom.numSizes = 2;
  // Not in proportion.
  layer.custom.sizes[0] = {1, 64, 64, 128, 48, 0, 320, 0, {3, 2, 1}};
  layer.custom.sizes[1] = {4, 64, 128, 448, 192, 0, 320, 384, {12, 8, 4}};
  const LayerDesc share = shareOf(layer, {3, 1}, 4);
  EXPECT_EQ(share.batch, 1);
  EXPECT_EQ(share.inputGradFreesBytes, 64);
  EXPECT_EQ(share.activationBytes, 128);
  EXPECT_EQ(share.inputGradKeepsBytes, 128);
  EXPECT_EQ(share.outputBytes, 48);
  EXPECT_EQ(share.inputBytes[0], 48);
  EXPECT_EQ(share.inputBytes[1], 16);
  EXPECT_EQ(share.custom.workspaceBytes, 320);
  EXPECT_EQ(share.custom.backwardWorkspaceBytes, 0);
  EXPECT_EQ(share.custom.flops.forward, 3);
  EXPECT_EQ(share.weightBytes, 256);
  LayerArgs args{};
  runCustom(share, args, &rondo_functions::forward, nullptr);
  EXPECT_EQ(called.layer.batch, 1);
  EXPECT_EQ(called.layer.first_sample, 3);
  EXPECT_EQ(shareOf(layer, {0, 4}, 4).outputBytes, 192);
  layer.outputBytes = 0;
  EXPECT_EQ(shareOf(layer, {3, 1}, 4).outputBytes, 0);
}

TEST_F(Custom, AShareTakesWhatAnArchitectureRoundsUp) {
  layer.batch = 4;
  layer.sequence = 3;
  layer.hidden = 5;
  layer.custom.numSizes = 1;
  layer.custom.sizes[0].samples = 2;
  layer.inputBytes[0] = 256;
  layer.inputBytes[1] = 240;
  const LayerDesc share = shareOf(layer, {0, 2}, 4);
  EXPECT_EQ(share.inputBytes[0], 128);
  EXPECT_EQ(share.inputBytes[1], 120);
}

TEST_F(Custom, AWrongSizeNamesItsSamples) {
  layer.batch = 1;
  layer.custom.numSizes = 1;
  answers.sizes.workspace_bytes = 64;
  EXPECT_EQ(error(),
            "layer 'mix': the program was compiled for workspace_bytes = 320 "
            "for 1 sample, but body 'mixer' needs workspace_bytes = 64 for 1 "
            "sample: write that into the model and compile it again");
}

TEST_F(Custom, Version) {
  body.version = RONDO_BODY_VERSION + 1;
  EXPECT_EQ(error(), "layer 'mix': body 'mixer' is of version 3 of "
                     "rondo_body.h, this program needs 2: compile it again "
                     "with the header of this installation");
  body.version = 1;
  EXPECT_EQ(error(), "layer 'mix': body 'mixer' is of version 1 of "
                     "rondo_body.h, this program needs 2: compile it again "
                     "with the header of this installation; what changed: "
                     "tasks return `const char *`, null if they succeed");
}

TEST_F(Custom, Target) {
  layer.target = Target::Cuda;
  EXPECT_EQ(error(),
            "layer 'mix': body 'mixer' does not run on CUDA: it has no "
            "F, I or W function for this target");
  layer.target = Target::Cpu;
  body.cpu.weight_grad = nullptr;
  EXPECT_EQ(error(), "layer 'mix': body 'mixer' does not run on the CPU: it "
                     "has no F, I or W function for this target");
}

TEST_F(Custom, Functions) {
  body.tensors = nullptr;
  EXPECT_EQ(error(), "layer 'mix': body 'mixer' has no `tensors` function");
  body.sizes = nullptr;
  EXPECT_EQ(error(), "layer 'mix': body 'mixer' has no `sizes` function");
}

TEST_F(Custom, Inputs) {
  layer.numInputs = 3;
  EXPECT_EQ(error(),
            "layer 'mix': it has 3 inputs, but body 'mixer' takes 1 to 2");
  layer.numInputs = 1;
  body.min_inputs = 2;
  EXPECT_EQ(error(), "layer 'mix': it has 1 input, but body 'mixer' takes 2");
  body.min_inputs = 3;
  EXPECT_EQ(error(), "layer 'mix': body 'mixer' declares min_inputs = 3 above "
                     "max_inputs = 2");
}

TEST_F(Custom, Sizes) {
  answers.sizes.weight_bytes = 512;
  answers.sizes.workspace_bytes = 0;
  EXPECT_EQ(error(),
            "layer 'mix': the program was compiled for weight_bytes = 256, "
            "workspace_bytes = 320, but body 'mixer' needs weight_bytes = 512, "
            "workspace_bytes = 0: write that into the model and compile it "
            "again");
  answers.sizes = {256, 65, 127, 449, 193, 320, 385, 0, 0, 0, {}};
  EXPECT_NE(error().find("needs saved_for_input_grad_bytes = 65, "
                         "saved_for_weight_grad_bytes = 127, "
                         "kept_for_weight_grad_bytes = 449, output_bytes = "
                         "193, backward_workspace_bytes = 385:"),
            std::string::npos)
      << error();
}

TEST_F(Custom, ANegativeSizeIsTheBodysFault) {
  answers.sizes.saved_for_input_grad_bytes = -64;
  EXPECT_EQ(error(), "layer 'mix': `sizes` of body 'mixer' returns "
                     "saved_for_input_grad_bytes = -64; a size is at least 0");
}

TEST_F(Custom, LastLayerMakesNothing) {
  layer.outputBytes = 0;
  EXPECT_EQ(error(), "");
}

TEST_F(Custom, Complaint) {
  answers.complaint = "parameters = [WIDTH] is missing";
  EXPECT_EQ(error(), "layer 'mix': parameters = [WIDTH] is missing");
}

/// Sizes of a body that takes documents; those of `answers` for 4 tokens.
const char *sizesByToken(const rondo_layer *layer, rondo_sizes *out) {
  const int64_t tokens = layer->tokens;
  *out = {256,         16 * tokens, 32 * tokens, 112 * tokens,
          48 * tokens, 80 * tokens, 96 * tokens, 0,
          0,           0,           {}};
  return nullptr;
}

TEST_F(Custom, ABodySaysWhetherItTakesDocuments) {
  auto errorOfRows = [this] {
    return errorThrownBy([this] { checkTakesDocuments(layer); });
  };
  EXPECT_FALSE(takesDocuments(layer));
  layer.custom.takesDocuments = true;
  EXPECT_TRUE(takesDocuments(layer));
  layer.batch = 2;
  layer.sequence = 2;
  EXPECT_EQ(errorOfRows(),
            "layer 'mix': the model declares documents = true, but "
            "body 'mixer' does not take rows of documents: remove "
            "documents = true, or use a body with takes_documents");
  body.takes_documents = 1;
  body.sizes = sizesByToken;
  EXPECT_EQ(errorOfRows(), "");
  body.sizes = sizes;
  EXPECT_EQ(errorOfRows(),
            "layer 'mix': documents = true is for sizes in proportion to the "
            "tokens: for a row of 1 token that is saved_for_input_grad_bytes = "
            "16, saved_for_weight_grad_bytes = 32, kept_for_weight_grad_bytes "
            "= 112, output_bytes = 48, workspace_bytes = 80, "
            "backward_workspace_bytes = 96, but body 'mixer' needs "
            "saved_for_input_grad_bytes = 64, saved_for_weight_grad_bytes = "
            "128, kept_for_weight_grad_bytes = 448, output_bytes = 192, "
            "workspace_bytes = 320, backward_workspace_bytes = 384");
}

TEST_F(Custom, StreamsAndGpusHaveNoRows) {
  layer.custom.takesDocuments = true;
  layer.target = Target::Cuda;
  EXPECT_FALSE(takesDocuments(layer));
  layer.target = Target::Cpu;
  layer.custom.numStreams = 1;
  EXPECT_FALSE(takesDocuments(layer));
}

} // namespace
} // namespace rondo::runtime
