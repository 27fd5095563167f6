// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tasks of a body get, and how their failures are reported.

#include "CustomLayer.h"

#include "runtime/model/documents.h"

namespace rondo::runtime {
namespace {

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
  EXPECT_EQ(called.layer.parameters[1], 9);
  EXPECT_EQ(called.layer.num_inputs, 2);
  EXPECT_EQ(called.layer.input_bytes[1], 64);
  EXPECT_EQ(called.layer.batch * called.layer.sequence, 6);
  EXPECT_EQ(called.inputs,
            (std::vector<const void *>{&buffers[4], &buffers[5]}));
  EXPECT_EQ(called.task.weights, &buffers[0]);
  EXPECT_EQ(called.task.weights_in_dtype, &buffers[0]);
  EXPECT_EQ(called.task.gradients, &buffers[1]);
  EXPECT_EQ(called.task.saved_for_input_grad, &buffers[2]);
  EXPECT_EQ(called.task.saved_for_weight_grad, &buffers[3]);
  EXPECT_EQ(called.task.output, &buffers[6]);
  EXPECT_EQ(called.task.output_grad, &buffers[7]);
  EXPECT_EQ(called.task.workspace, &buffers[9]);
  EXPECT_EQ(called.task.loss, &buffers[10]);
  EXPECT_EQ(called.task.loss_scale, 0.25);
  EXPECT_EQ(called.task.microbatch, 11);
  EXPECT_EQ(called.task.stream, nullptr);
  EXPECT_EQ(called.task.kept_for_weight_grad, &buffers[11]);
  EXPECT_EQ(called.task.state, &buffers[12]);
  EXPECT_EQ(called.task.seed, 5u);
  EXPECT_EQ(called.task.iteration, 6);
  EXPECT_EQ(called.task.iteration_on_device, &iteration);
}

TEST_F(Custom, ATaskSeesItsStreams) {
  layer.batch = 5;
  layer.custom.numStreams = 2;
  layer.custom.streams[0] = {"images", StreamType::Fp32, 2, {3, 2}, 0, false,
                             0};
  layer.custom.streams[1] = {"labels", StreamType::Int32, 0, {}, 10, true, -1};
  alignas(64) char data[256];
  LayerArgs args{};
  args.data = reinterpret_cast<const int32_t *>(data);
  cpuBody(LayerKind::Custom).forward(&layer, &args);
  EXPECT_EQ(called.layer.batch, 5);
  ASSERT_EQ(called.streams.size(), 2u);
  EXPECT_STREQ(called.streams[0].name, "images");
  EXPECT_EQ(called.streams[0].type, RONDO_STREAM_FP32);
  EXPECT_EQ(called.streams[0].num_dims, 2);
  EXPECT_EQ(called.streams[0].shape[1], 2);
  EXPECT_EQ(called.streams[1].type, RONDO_STREAM_INT32);
  EXPECT_EQ(called.streams[1].below, 10);
  EXPECT_EQ(called.streams[1].ignored, -1);
  EXPECT_NE(called.streams[1].has_ignored, 0);
  // 5 * 6 numbers take 120 bytes.
  EXPECT_EQ(called.staged, (std::vector<const void *>{data, data + 128}));
}

/// After the fp32 weights, or at the caller's address.
TEST_F(Custom, ATaskSeesItsWeightsInItsDtype) {
  layer.dtype = DType::Bf16;
  std::vector<char> weights(2 * alignedBytes(layer.weightBytes));
  const float elsewhere = 0;
  LayerArgs args{};
  args.weights = weights.data();
  cpuBody(LayerKind::Custom).forward(&layer, &args);
  EXPECT_EQ(called.task.weights_in_dtype,
            weights.data() + alignedBytes(layer.weightBytes));
  args.weightsInDtype = &elsewhere;
  cpuBody(LayerKind::Custom).forward(&layer, &args);
  EXPECT_EQ(called.task.weights, weights.data());
  EXPECT_EQ(called.task.weights_in_dtype, &elsewhere);
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
  EXPECT_EQ(called.layer.tokens, 5);
  EXPECT_EQ(called.layer.batch, 1);
  EXPECT_EQ(called.layer.sequence, 3);
  EXPECT_EQ(called.layer.output_bytes, 160);
  EXPECT_EQ(called.task.document_starts, starts);
  EXPECT_EQ(called.task.num_documents, 2);
  cpuBody(LayerKind::Custom).forward(&layer, &args);
  EXPECT_EQ(called.layer.tokens, 6);
}

TEST_F(Custom, ATaskThatFailsIsNamed) {
  answers.failure = "no number is even";
  LayerArgs args{};
  args.microbatch = 3;
  const LayerBody &tasks = cpuBody(LayerKind::Custom);
  EXPECT_EQ(errorThrownBy([&] { tasks.forward(&layer, &args); }),
            "layer 'mix': F of micro-batch 3: no number is even");
  EXPECT_EQ(errorThrownBy([&] { tasks.inputGrad(&layer, &args); }),
            "layer 'mix': I of micro-batch 3: no number is even");
  EXPECT_EQ(errorThrownBy([&] { tasks.weightGrad(&layer, &args); }),
            "layer 'mix': W of micro-batch 3: no number is even");
  body.cpu.backward = remember;
  EXPECT_EQ(errorThrownBy([&] { tasks.backward(&layer, &args); }),
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
    EXPECT_EQ(called.layer.num_inputs, 2);
    EXPECT_EQ(called.rank, 3);
    EXPECT_EQ(called.device, 1);
    EXPECT_EQ(called.unloaded, 0);
  }
  EXPECT_EQ(called.unloaded, 1);
  // unload() is not called if load() has failed.
  answers.failure = "no such table";
  EXPECT_EQ(errorThrownBy([&] { LoadedBody(layer, 3, 1); }),
            "layer 'mix': `load` of body 'mixer' on rank 3: no such table");
  EXPECT_EQ(called.unloaded, 1);
}

} // namespace
} // namespace rondo::runtime
