// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks of exported layers on emulated GPUs.

#include "TorchGraph.h"

#include "test/cuda_emulation/emulation.h"

namespace rondo::torch {
namespace {

TEST_F(TorchTask, EnqueuesItsGraphAndCopies) {
  Tables tables;
  {
    Layer layer(tables, stream);
    ASSERT_STREQ(layer.fault, nullptr);
    layer.setIteration(5);
    const emulation::GuardedMemory guard;
    ASSERT_STREQ(layer.run(), nullptr);
    expectResult(layer, 5);
  }
  EXPECT_EQ(containers.size(), 0u);
  EXPECT_EQ(emulation::loadedModules(), 0);
}

// Some programs give their tasks no number of the iteration on the device.
TEST_F(TorchTask, TakesTheIterationItIsCalledWith) {
  Tables tables;
  Layer layer(tables, stream);
  layer.buffers.iteration_on_device = nullptr;
  layer.buffers.iteration = -1;
  ASSERT_STREQ(layer.run(), nullptr);
  expectResult(layer, -1);
}

// A recorded iteration is repeated with other numbers.
TEST_F(TorchTask, IsRecordedAndRepeated) {
  Tables tables;
  Layer layer(tables, stream);
  ASSERT_EQ(prepareOnDevice(tables.body, layer.layer, layer.buffers), nullptr);
  wait();
  RecordedGraph graph;
  graph.begin(stream.handle, cudaStreamCaptureModeThreadLocal);
  ASSERT_STREQ(layer.run(), nullptr);
  graph.end();
  for (int64_t iteration : {0, 1, 9}) {
    layer.setIteration(iteration);
    layer.x = randoms<float>(100 + iteration, count);
    layer.onX.write(layer.x);
    layer.out.poison();
    layer.workspace.poison();
    graph.launch(stream.handle);
    expectResult(layer, iteration);
  }
}

TEST_F(TorchTask, LoadsKernelsBeforeItIsRecorded) {
  Tables tables;
  Layer layer(tables, stream);
  RecordedGraph graph;
  graph.begin(stream.handle, cudaStreamCaptureModeThreadLocal);
  EXPECT_STREQ(layer.run(),
               "graph 'combined' failed: CUDA driver error: an emulated error");
  graph.cancel();
}

// A container each, with constants once a GPU.
TEST_F(TorchTask, RanksHaveContainersOfTheirOwn) {
  emulation::setDevices(2);
  Tables tables;
  {
    Layer first(tables, stream, 0, 0), again(tables, stream, 0, 0),
        second(tables, stream, 1, 0);
    ASSERT_STREQ(second.fault, nullptr);
    EXPECT_EQ(containers.size(), 2u) << "layers of a rank share theirs";
    auto constants = [](const Layer &layer) {
      return static_cast<DeviceLayer *>(layer.buffers.state)->constants.get();
    };
    EXPECT_EQ(constants(first), constants(second));
    for (Layer *layer : {&first, &again, &second}) {
      layer->setIteration(2);
      ASSERT_STREQ(layer->run(), nullptr);
      expectResult(*layer, 2);
    }
    EXPECT_EQ(emulation::loadedModules(), 2);

    RONDO_CUDA(cudaSetDevice(1));
    const OwnedStream other(OwnedStream::Priority::Usual);
    Stream onOther;
    onOther.handle = other.get();
    {
      Layer third(tables, onOther, 2, 1);
      EXPECT_NE(constants(first), constants(third));
      third.setIteration(4);
      ASSERT_STREQ(third.run(), nullptr);
      RONDO_CUDA(cudaStreamSynchronize(other.get()));
      expectResult(third, 4);
    }
    RONDO_CUDA(cudaSetDevice(0));
  }
  emulation::setDevices(1);
}

TEST_F(TorchTask, RefusesWhatItIsNotFor) {
  Tables later;
  later.body.capability = 121;
  EXPECT_STREQ(Layer(later, stream).fault,
               "its graphs are compiled for GPUs of compute capability 12.1, "
               "and GPU 0 has 9.0: export the model for that");
  Tables earlier;
  earlier.body.capability = 70;
  EXPECT_STREQ(Layer(earlier, stream).fault,
               "its graphs are compiled for GPUs of compute capability 7.0, "
               "and GPU 0 has 9.0: export the model for that");
  earlier.body.hasPtx = true;
  EXPECT_EQ(Layer(earlier, stream).fault, nullptr);
  Tables narrow;
  narrow.body.dtype = RONDO_DTYPE_BF16;
  EXPECT_STREQ(Layer(narrow, stream).fault,
               "it was exported in bf16, and the program has --dtype=fp32: "
               "compile it with --dtype=bf16");
  EXPECT_EQ(containers.size(), 0u);
}

TEST_F(TorchTask, SaysWhatFails) {
  Tables tables;
  Layer layer(tables, stream);
  kernelName = "missing";
  EXPECT_STREQ(layer.run(),
               "graph 'combined' failed: CUDA driver error: an emulated error");
  kernelName = "combine";
  emulation::failCall("cudaMemcpyAsync", 0, 1);
  const std::string fault = layer.run();
  EXPECT_NE(fault.find("cudaMemcpyAsync"), std::string::npos) << fault;
  // The library finds an error that is left.
  EXPECT_STREQ(layer.run(), "graph 'combined' failed: cublasLtMatmul failed: "
                            "CUBLAS_STATUS_EXECUTION_FAILED");
  cudaGetLastError();
  allocatesMore = true;
  EXPECT_STREQ(layer.run(), "graph 'combined' failed: a graph allocates other "
                            "tensors than were recorded when it was exported");
  allocatesMore = false;
  (*containers.begin())->device = 3;
  EXPECT_STREQ(layer.run(),
               "graph 'combined' failed: a graph selects GPU 3, and its task "
               "is on another one");
  (*containers.begin())->device = 0;
  tables.task.numAllocations = 4;
  EXPECT_STREQ(layer.run(),
               "graph 'combined' made 3 allocations, not 4 as when exported");
  wait();
}

} // namespace
} // namespace rondo::torch
