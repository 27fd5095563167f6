// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recorded settings of memory become kernels that write the same bytes at the
// same place in the order.

#include "DeviceTest.h"

#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/graph.h"

namespace rondo::runtime::cuda {
namespace {

// As in a program: before the driver starts.
[[maybe_unused]] const bool hasDefaults =
    (setDefaults(/*mayUseNccl=*/false), true);

class MemsetNodes : public DeviceTest {
protected:
  /// Records what `enqueue` enqueues, replaces nodes, and runs it `times`.
  template <typename Enqueue> void run(int times, Enqueue enqueue) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;
    RONDO_CUDA(
        cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeRelaxed));
    enqueue();
    RONDO_CUDA(cudaStreamEndCapture(stream.handle, &graph));
    recorded = count(graph);
    setMemoryByKernels(graph);
    left = count(graph);
    RONDO_CUDA(cudaGraphInstantiate(&runnable, graph, 0));
    for (int i = 0; i < times; ++i)
      RONDO_CUDA(cudaGraphLaunch(runnable, stream.handle));
    wait();
    cudaGraphExecDestroy(runnable);
    cudaGraphDestroy(graph);
  }

  int recorded = 0, left = 0;

private:
  static int count(cudaGraph_t graph) {
    size_t number = 0;
    RONDO_CUDA(cudaGraphGetNodes(graph, nullptr, &number));
    std::vector<cudaGraphNode_t> nodes(number);
    RONDO_CUDA(cudaGraphGetNodes(graph, nodes.data(), &number));
    int found = 0;
    for (cudaGraphNode_t node : nodes) {
      cudaGraphNodeType type{};
      RONDO_CUDA(cudaGraphNodeGetType(node, &type));
      found += type == cudaGraphNodeTypeMemset;
    }
    return found;
  }
};

using Bytes = std::vector<unsigned char>;

TEST_F(MemsetNodes, WriteTheSameBytes) {
  for (int64_t size : {1, 15, 16, 4096, 4099, 70000})
    for (int64_t offset : {0, 1, 16}) {
      DeviceArray<unsigned char> memory(Bytes(size + offset, 7));
      run(1, [&] {
        RONDO_CUDA(
            cudaMemsetAsync(memory.get() + offset, 0x5a, size, stream.handle));
      });
      Bytes expected(size + offset, 0x5a);
      std::fill_n(expected.begin(), offset, 7);
      EXPECT_EQ(memory.read(), expected) << size << " behind " << offset;
      EXPECT_EQ(recorded, 1);
      EXPECT_EQ(left, 0);
    }
}

// The same kernel without a recording, also on pinned memory of the host.
TEST_F(MemsetNodes, AlsoAloneAndOnTheHost) {
  constexpr int64_t size = 4099;
  DeviceArray<unsigned char> memory(Bytes(size, 7));
  unsigned char *pinned = nullptr;
  RONDO_CUDA(cudaHostAlloc(reinterpret_cast<void **>(&pinned), size,
                           cudaHostAllocDefault));
  std::fill_n(pinned, size, 7);
  setMemory(stream, memory.get() + 3, 0xff, size - 3);
  setMemory(stream, pinned, 0x5a, size - 1);
  wait();
  Bytes expected(size, 0xff), onHost(size, 0x5a);
  std::fill_n(expected.begin(), 3, 7);
  onHost.back() = 7;
  EXPECT_EQ(memory.read(), expected);
  EXPECT_EQ(Bytes(pinned, pinned + size), onHost);
  cudaFreeHost(pinned);
}

// Each copy reads what was set just before it; sets come first, last and one
// after the other.
TEST_F(MemsetNodes, KeepTheirPlace) {
  constexpr int64_t size = 1 << 16;
  constexpr int copies = 12;
  DeviceArray<unsigned char> memory(size), seen(copies * size);
  run(3, [&] {
    for (int i = 0; i < copies; ++i) {
      RONDO_CUDA(cudaMemsetAsync(memory.get(), 100, size, stream.handle));
      RONDO_CUDA(cudaMemsetAsync(memory.get(), i, size, stream.handle));
      RONDO_CUDA(cudaMemcpyAsync(seen.get() + i * size, memory.get(), size,
                                 cudaMemcpyDeviceToDevice, stream.handle));
    }
    RONDO_CUDA(cudaMemsetAsync(memory.get(), 99, size, stream.handle));
  });
  const Bytes all = seen.read();
  for (int i = 0; i < copies; ++i)
    EXPECT_EQ(Bytes(all.begin() + i * size, all.begin() + (i + 1) * size),
              Bytes(size, static_cast<unsigned char>(i)));
  EXPECT_EQ(memory.read(), Bytes(size, 99));
  EXPECT_EQ(recorded, 2 * copies + 1);
  EXPECT_EQ(left, 0);
}

// Queues four times as long made a driver hang in a graph of 8,000 kernels in a
// row.
TEST_F(MemsetNodes, MayBeMany) {
  constexpr int64_t size = 8000;
  DeviceArray<unsigned char> memory(size);
  Bytes expected;
  RecordedGraph graph;
  graph.begin(stream.handle, cudaStreamCaptureModeRelaxed);
  for (int64_t i = 0; i < size; ++i) {
    expected.push_back(static_cast<unsigned char>(i % 251));
    RONDO_CUDA(
        cudaMemsetAsync(memory.get() + i, expected[i], 1, stream.handle));
  }
  graph.end();
  graph.launch(stream.handle);
  wait();
  EXPECT_EQ(memory.read(), expected);
}

} // namespace
} // namespace rondo::runtime::cuda
