//===- graph.cpp - An iteration that is recorded once ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/device/cuda/graph.h"

#include "runtime/device/cuda/memset_nodes.h"

#include <memory>
#include <type_traits>

using namespace rondo::runtime::cuda;

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
  RONDO_CUDA(cudaGraphInstantiate(&graph, recorded,
                                  cudaGraphInstantiateFlagUseNodePriority));
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
