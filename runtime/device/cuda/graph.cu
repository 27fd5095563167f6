//===- graph.cu - An iteration that is recorded once ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/device/cuda/graph.h"

#include "runtime/base/cuda/stream.h"
#include "runtime/base/cuda/thread.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

using namespace rondo::runtime::cuda;

//===----------------------------------------------------------------------===//
// Memory that a recording sets.
//===----------------------------------------------------------------------===//

namespace {

constexpr int blockThreads = 256;
constexpr uint64_t packBytes = 16;

/// Writes `word` over and over, 16 bytes per thread, and the rest byte by byte.
__global__ void __launch_bounds__(blockThreads)
    setMemoryKernel(unsigned char *memory, uint64_t bytes, uint64_t word) {
  const uint64_t at =
      (uint64_t(blockIdx.x) * blockThreads + threadIdx.x) * packBytes;
  const auto low = static_cast<unsigned>(word);
  if (at + packBytes <= bytes &&
      reinterpret_cast<uintptr_t>(memory) % packBytes == 0) {
    asVector<uint4>(memory + at) = {low, low, low, low};
    return;
  }
  for (uint64_t i = at; i < bytes && i < at + packBytes; ++i)
    memory[i] = static_cast<unsigned char>(low >> i % 4 * 8);
}

dim3 blocksToSet(uint64_t bytes) {
  return dim3(blocksFor(static_cast<int64_t>(bytes),
                        blockThreads * static_cast<int64_t>(packBytes)));
}

// From CUDA 13 on, functions about edges have a parameter for their properties.
// A node that sets memory has plain edges only, which need none.
#if CUDART_VERSION >= 13000
#define RONDO_PLAIN_EDGES nullptr,
#else
#define RONDO_PLAIN_EDGES
#endif

/// `get` says how many there are, or writes that many.
template <typename Get> std::vector<cudaGraphNode_t> nodesOf(Get get) {
  size_t count = 0;
  RONDO_CUDA(get(nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0)
    RONDO_CUDA(get(nodes.data(), &count));
  return nodes;
}

/// An element, repeated to 4 bytes.
uint64_t wordOf(const cudaMemsetParams &set) {
  switch (set.elementSize) {
  case 1:
    return (set.value & 0xff) * 0x01010101U;
  case 2:
    return (set.value & 0xffff) * 0x00010001U;
  default:
    return set.value;
  }
}

void replace(cudaGraph_t graph, cudaGraphNode_t node,
             const cudaMemsetParams &set) {
  uint64_t bytes = set.width * set.elementSize, word = wordOf(set);
  auto *memory = static_cast<unsigned char *>(set.dst);
  void *arguments[] = {&memory, &bytes, &word};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void *>(setMemoryKernel);
  kernel.gridDim = blocksToSet(bytes);
  kernel.blockDim = blockThreads;
  kernel.kernelParams = arguments;

  const std::vector<cudaGraphNode_t> before = nodesOf([&](cudaGraphNode_t *list,
                                                          size_t *count) {
    return cudaGraphNodeGetDependencies(node, list, RONDO_PLAIN_EDGES count);
  });
  const std::vector<cudaGraphNode_t> after = nodesOf([&](cudaGraphNode_t *list,
                                                         size_t *count) {
    return cudaGraphNodeGetDependentNodes(node, list, RONDO_PLAIN_EDGES count);
  });
  cudaGraphNode_t added = nullptr;
  RONDO_CUDA(cudaGraphAddKernelNode(&added, graph, before.data(), before.size(),
                                    &kernel));
  const std::vector<cudaGraphNode_t> from(after.size(), added);
  if (!after.empty())
    RONDO_CUDA(cudaGraphAddDependencies(graph, from.data(), after.data(),
                                        RONDO_PLAIN_EDGES after.size()));
  RONDO_CUDA(cudaGraphDestroyNode(node));
}

} // namespace

void rondo::runtime::cuda::setMemory(const Stream &stream, void *memory,
                                     uint8_t byte, int64_t bytes) {
  launch(stream, setMemoryKernel, blocksToSet(static_cast<uint64_t>(bytes)),
         dim3(blockThreads), 0, static_cast<unsigned char *>(memory),
         static_cast<uint64_t>(bytes), byte * uint64_t(0x01010101));
}

void rondo::runtime::cuda::setMemoryByKernels(cudaGraph_t graph) {
  for (cudaGraphNode_t node :
       nodesOf([&](cudaGraphNode_t *list, size_t *count) {
         return cudaGraphGetNodes(graph, list, count);
       })) {
    cudaGraphNodeType type{};
    RONDO_CUDA(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeMemset)
      continue;
    cudaMemsetParams set{};
    RONDO_CUDA(cudaGraphMemsetNodeGetParams(node, &set));
    if (set.height <= 1 && set.width > 0)
      replace(graph, node, set);
  }
}

//===----------------------------------------------------------------------===//
// Recordings.
//===----------------------------------------------------------------------===//

RecordedGraph::~RecordedGraph() { drop(); }

void RecordedGraph::drop() {
  cancel();
  if (graph)
    cudaGraphExecDestroy(graph);
  graph = nullptr;
}

void RecordedGraph::begin(cudaStream_t stream, cudaStreamCaptureMode mode) {
  RONDO_CUDA(cudaStreamBeginCapture(stream, mode));
  origin = stream;
}

void RecordedGraph::end() {
  cudaGraph_t recorded = nullptr;
  cudaStream_t stream = origin;
  origin = nullptr;
  RONDO_CUDA(cudaStreamEndCapture(stream, &recorded));
  const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>,
                        decltype(&cudaGraphDestroy)>
      owned(recorded, cudaGraphDestroy);
  setMemoryByKernels(recorded);
  // Nodes keep the priority of the stream they were recorded in.
  const cudaError_t error = cudaGraphInstantiate(
      &graph, recorded, cudaGraphInstantiateFlagUseNodePriority);
  if (error == cudaErrorMemoryAllocation)
    throw Error("a GPU has no memory for the recorded graph of an iteration, "
                "of which it keeps the " +
                std::to_string(maxRecordings) +
                " used last of a program (cudaErrorMemoryAllocation): run "
                "with --graph off, which enqueues each iteration");
  check(error, "cudaGraphInstantiate", __FILE__, __LINE__);
}

void RecordedGraph::cancel() {
  if (!origin)
    return;
  cudaGraph_t recorded = nullptr;
  cudaStreamEndCapture(origin, &recorded);
  origin = nullptr;
  if (recorded)
    cudaGraphDestroy(recorded);
  // The error that ended the recording has already been reported.
  cudaGetLastError();
}

//===----------------------------------------------------------------------===//
// The recordings of a program.
//===----------------------------------------------------------------------===//

bool RecentVariants::has(int64_t variant) const {
  return std::find(variants.begin(), variants.end(), variant) != variants.end();
}

void RecentVariants::add(int64_t variant) {
  variants.remove(variant);
  variants.push_front(variant);
  if (variants.size() > maxKept)
    variants.pop_back();
}

RecordedGraph *IterationGraph::find() {
  for (auto each = recordings.begin(); each != recordings.end(); ++each)
    if (each->variant == variant) {
      recordings.splice(recordings.begin(), recordings, each);
      return &recordings.front().graph;
    }
  return nullptr;
}

void IterationGraph::begin(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (!find()) {
    if (recordings.size() == maxRecordings)
      recordings.pop_back();
    recordings.emplace_front().variant = variant;
  }
  recordings.front().graph.begin(stream, mode);
}

void IterationGraph::end(cudaStream_t stream) {
  recordings.front().graph.end();
  recordings.front().graph.launch(stream);
}

void IterationGraph::replay(cudaStream_t stream) { find()->launch(stream); }
