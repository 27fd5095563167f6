// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Custom layers: what a program refuses at start, and what a body gets.

#include "Model.h"

#include "runtime/base/error.h"
#include "runtime/bodies/custom.h"
#include "runtime/bodies/tensors.h"
#include "runtime/model/documents.h"
#include "runtime/model/share.h"
#include "runtime/model/stage_sizes.h"

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

namespace rondo::runtime {
namespace {

/// The answers of the functions below; tests change them.
struct Answers {
  const char *complaint = nullptr;
  rondo_sizes sizes = {256, 64, 128, 448, 192, 320, 384};
  std::vector<rondo_tensor> tensors = {
      {"matrix", 2, {8, 4}, 0, RONDO_INIT_NORMAL, 1, 0},
      {"vector", 1, {20, 0}, 32, RONDO_INIT_ONES, 0, 0}};
  /// Result of `tensors` instead of their number.
  std::optional<int32_t> count;
  /// What tasks and load() return.
  const char *failure = nullptr;
  int32_t rank = -1, device = -1, unloaded = 0;
  rondo_layer layer{};
  rondo_task task{};
  std::vector<const void *> inputs;
  std::vector<rondo_stream> streams;
  std::vector<const void *> staged;
};
Answers answers;

const char *sizes(const rondo_layer *, rondo_sizes *out) {
  *out = answers.sizes;
  return answers.complaint;
}
int32_t tensors(const rondo_layer *, rondo_tensor *out, int32_t capacity) {
  const int32_t count = static_cast<int32_t>(answers.tensors.size());
  for (int32_t t = 0; t < count && t < capacity; ++t)
    out[t] = answers.tensors[t];
  return answers.count.value_or(count);
}
const char *remember(const rondo_layer *layer, const rondo_task *task) {
  answers.layer = *layer;
  answers.task = *task;
  answers.inputs.assign(task->inputs, task->inputs + layer->num_inputs);
  answers.streams.assign(layer->streams, layer->streams + layer->num_streams);
  answers.staged.assign(task->streams, task->streams + layer->num_streams);
  return answers.failure;
}
const char *load(const rondo_layer *layer, int32_t rank, int32_t device,
                 void **state) {
  answers.layer = *layer;
  answers.rank = rank;
  answers.device = device;
  *state = &answers;
  return answers.failure;
}
void unload(const rondo_layer *, void *state) {
  answers.unloaded += state == &answers;
}

class Custom : public testing::Test {
protected:
  Custom() {
    answers = Answers();
    body = {RONDO_BODY_VERSION,
            1,
            2,
            sizes,
            tensors,
            {remember, remember, remember, nullptr, nullptr},
            {},
            nullptr,
            nullptr,
            0};
    layer.name = "mix";
    layer.kind = LayerKind::Custom;
    layer.activationBytes = 192;
    layer.inputGradFreesBytes = 64;
    layer.numInputs = 2;
    layer.inputBytes[0] = 192;
    layer.inputBytes[1] = 64;
    layer.outputBytes = 192;
    layer.weightBytes = 256;
    layer.custom.name = "mixer";
    layer.custom.body = &body;
    layer.custom.workspaceBytes = 320;
    layer.custom.backwardWorkspaceBytes = 384;
    layer.inputGradKeepsBytes = 448;
  }

  /// The error of checkCustomLayer().
  std::string error() {
    try {
      checkCustomLayer(layer);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }

  /// The error of checkTakesDocuments().
  std::string errorOfRows() {
    try {
      checkTakesDocuments(layer);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }

  rondo_body body{};
  LayerDesc layer{};
};

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
  EXPECT_EQ(answers.layer.batch, 1);
  EXPECT_EQ(answers.layer.first_sample, 3);
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
  answers.sizes = {256, 65, 127, 449, 193, 320, 385};
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

TEST_F(Custom, ATaskSeesItsStreams) {
  layer.batch = 5;
  layer.custom.numStreams = 2;
  layer.custom.streams[0] = {"images", StreamType::Fp32, 2, {3, 2}, 0};
  layer.custom.streams[1] = {"labels", StreamType::Int32, 0, {}, 10, true, -1};
  alignas(64) char data[256];
  LayerArgs args{};
  args.data = reinterpret_cast<const int32_t *>(data);
  cpuBody(LayerKind::Custom).forward(&layer, &args);
  EXPECT_EQ(answers.layer.batch, 5);
  ASSERT_EQ(answers.streams.size(), 2u);
  EXPECT_STREQ(answers.streams[0].name, "images");
  EXPECT_EQ(answers.streams[0].type, RONDO_STREAM_FP32);
  EXPECT_EQ(answers.streams[0].num_dims, 2);
  EXPECT_EQ(answers.streams[0].shape[1], 2);
  EXPECT_EQ(answers.streams[1].type, RONDO_STREAM_INT32);
  EXPECT_EQ(answers.streams[1].below, 10);
  EXPECT_EQ(answers.streams[1].ignored, -1);
  EXPECT_NE(answers.streams[1].has_ignored, 0);
  // 5 * 6 numbers take 120 bytes.
  EXPECT_EQ(answers.staged, (std::vector<const void *>{data, data + 128}));
}

/// Sizes of a body that takes documents; those of `answers` for 4 tokens.
const char *sizesByToken(const rondo_layer *layer, rondo_sizes *out) {
  const int64_t tokens = layer->tokens;
  *out = {256,         16 * tokens, 32 * tokens, 112 * tokens,
          48 * tokens, 80 * tokens, 96 * tokens};
  return nullptr;
}

TEST_F(Custom, ARowOfDocumentsIsPassed) {
  layer.batch = 2;
  layer.sequence = 3;
  const LayerDesc row = rowOfDocuments(layer, 5);
  const int32_t starts[] = {0, 3, 5};
  LayerArgs args{};
  args.documentStarts = starts;
  args.numDocuments = 2;
  cpuBody(LayerKind::Custom).weightGrad(&row, &args);
  EXPECT_EQ(answers.layer.tokens, 5);
  EXPECT_EQ(answers.layer.batch, 1);
  EXPECT_EQ(answers.layer.sequence, 3);
  EXPECT_EQ(answers.layer.output_bytes, 160);
  EXPECT_EQ(answers.task.document_starts, starts);
  EXPECT_EQ(answers.task.num_documents, 2);
  cpuBody(LayerKind::Custom).forward(&layer, &args);
  EXPECT_EQ(answers.layer.tokens, 6);
}

TEST_F(Custom, ABodySaysWhetherItTakesDocuments) {
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

TEST_F(Custom, ATaskSeesItsBuffers) {
  const int64_t parameters[] = {7, 9};
  layer.custom.parameters = parameters;
  layer.custom.numParameters = 2;
  layer.batch = 2;
  layer.sequence = 3;
  float buffers[13];
  const int64_t iteration = 6;
  LayerArgs args{};
  args.weights = &buffers[0];
  args.gradients = &buffers[1];
  args.savedForInputGrad = &buffers[2];
  args.savedForWeightGrad = &buffers[3];
  args.inputs[0] = &buffers[4];
  args.inputs[1] = &buffers[5];
  args.output = &buffers[6];
  args.outputGrad = &buffers[7];
  args.inputGrads[1] = &buffers[8];
  args.workspace = &buffers[9];
  args.loss = &buffers[10];
  args.lossScale = 0.25;
  args.microbatch = 11;
  args.keptForWeightGrad = &buffers[11];
  args.state = &buffers[12];
  args.seed = 5;
  args.iteration = iteration;
  args.iterationOnDevice = &iteration;
  cpuBody(LayerKind::Custom).forward(&layer, &args);
  EXPECT_EQ(answers.layer.parameters[1], 9);
  EXPECT_EQ(answers.layer.num_inputs, 2);
  EXPECT_EQ(answers.layer.input_bytes[1], 64);
  EXPECT_EQ(answers.layer.batch * answers.layer.sequence, 6);
  EXPECT_EQ(answers.inputs,
            (std::vector<const void *>{&buffers[4], &buffers[5]}));
  EXPECT_EQ(answers.task.weights, &buffers[0]);
  EXPECT_EQ(answers.task.weights_in_dtype, &buffers[0]);
  EXPECT_EQ(answers.task.gradients, &buffers[1]);
  EXPECT_EQ(answers.task.saved_for_input_grad, &buffers[2]);
  EXPECT_EQ(answers.task.saved_for_weight_grad, &buffers[3]);
  EXPECT_EQ(answers.task.output, &buffers[6]);
  EXPECT_EQ(answers.task.output_grad, &buffers[7]);
  EXPECT_EQ(answers.task.workspace, &buffers[9]);
  EXPECT_EQ(answers.task.loss, &buffers[10]);
  EXPECT_EQ(answers.task.loss_scale, 0.25);
  EXPECT_EQ(answers.task.microbatch, 11);
  EXPECT_EQ(answers.task.stream, nullptr);
  EXPECT_EQ(answers.task.kept_for_weight_grad, &buffers[11]);
  EXPECT_EQ(answers.task.state, &buffers[12]);
  EXPECT_EQ(answers.task.seed, 5u);
  EXPECT_EQ(answers.task.iteration, 6);
  EXPECT_EQ(answers.task.iteration_on_device, &iteration);
}

/// The message of the Error that `call` throws.
template <typename Call> std::string errorOf(Call call) {
  try {
    call();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST_F(Custom, ATaskThatFailsIsNamed) {
  answers.failure = "no number is even";
  LayerArgs args{};
  args.microbatch = 3;
  const LayerBody &tasks = cpuBody(LayerKind::Custom);
  EXPECT_EQ(errorOf([&] { tasks.forward(&layer, &args); }),
            "layer 'mix': F of micro-batch 3: no number is even");
  EXPECT_EQ(errorOf([&] { tasks.inputGrad(&layer, &args); }),
            "layer 'mix': I of micro-batch 3: no number is even");
  EXPECT_EQ(errorOf([&] { tasks.weightGrad(&layer, &args); }),
            "layer 'mix': W of micro-batch 3: no number is even");
  body.cpu.backward = remember;
  EXPECT_EQ(errorOf([&] { tasks.backward(&layer, &args); }),
            "layer 'mix': B of micro-batch 3: no number is even");
}

TEST_F(Custom, ABodyMayLackBackward) {
  const LayerBody &all = cpuBody(LayerKind::Custom);
  EXPECT_EQ(tasksOf(layer, all).backward, nullptr);
  EXPECT_EQ(tasksOf(layer, all).forward, all.forward);
  body.cpu.backward = remember;
  EXPECT_EQ(tasksOf(layer, all).backward, all.backward);
}

TEST_F(Custom, ABodyIsLoadedForARank) {
  {
    EXPECT_EQ(LoadedBody(layer, 3, 1).get(), nullptr);
  }
  body.load = load;
  body.unload = unload;
  {
    const LoadedBody loaded(layer, 3, 1);
    EXPECT_EQ(loaded.get(), &answers);
    EXPECT_EQ(answers.layer.num_inputs, 2);
    EXPECT_EQ(answers.rank, 3);
    EXPECT_EQ(answers.device, 1);
    EXPECT_EQ(answers.unloaded, 0);
  }
  EXPECT_EQ(answers.unloaded, 1);
  // What load() has not made, nobody unloads.
  answers.failure = "no such table";
  EXPECT_EQ(errorOf([&] { LoadedBody(layer, 3, 1); }),
            "layer 'mix': `load` of body 'mixer' on rank 3: no such table");
  EXPECT_EQ(answers.unloaded, 1);
}

/// After the fp32 weights, or at the caller's address.
TEST_F(Custom, ATaskSeesItsWeightsInItsDtype) {
  layer.dtype = DType::Bf16;
  std::vector<char> weights(2 * alignedBytes(layer.weightBytes));
  const float elsewhere = 0;
  LayerArgs args{};
  args.weights = weights.data();
  cpuBody(LayerKind::Custom).forward(&layer, &args);
  EXPECT_EQ(answers.task.weights_in_dtype,
            weights.data() + alignedBytes(layer.weightBytes));
  args.weightsInDtype = &elsewhere;
  cpuBody(LayerKind::Custom).forward(&layer, &args);
  EXPECT_EQ(answers.task.weights, weights.data());
  EXPECT_EQ(answers.task.weights_in_dtype, &elsewhere);
}

} // namespace
} // namespace rondo::runtime
