//===- graph.cpp - An iteration that is recorded once ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/device/cuda/graph.h"

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
  // Nodes keep the priority of the stream they were recorded in.
  cudaError_t error = cudaGraphInstantiate(
      &graph, recorded, cudaGraphInstantiateFlagUseNodePriority);
  cudaGraphDestroy(recorded);
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
