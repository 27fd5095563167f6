//===- graph_nodes.cpp - Changes to what has been recorded ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "engine.h"

#include <algorithm>
#include <array>
#include <cstring>

using namespace emulation;

Graph::Graph(Nodes recorded) : nodes(std::move(recorded)) {
  for (size_t n = 0; n < nodes.size(); ++n)
    handles.push_back(std::make_unique<GraphNode>(GraphNode{this, n}));
}

static Node &contentOf(cudaGraphNode_t node) {
  return node->graph->nodes[node->number];
}

/// Says how many there are, or writes that many.
static cudaError_t list(Graph &graph, const std::vector<int> &numbers,
                        cudaGraphNode_t *nodes, size_t *count) {
  for (size_t i = 0; nodes && i < std::min(*count, numbers.size()); ++i)
    nodes[i] = graph.handle(numbers[i]);
  *count = numbers.size();
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes,
                              size_t *count) {
  RONDO_EMULATED(cudaGraphGetNodes);
  std::vector<int> numbers;
  for (const auto &handle : graph->handles)
    if (handle)
      numbers.push_back(static_cast<int>(handle->number));
  return list(*graph, numbers, nodes, count);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node,
                                 cudaGraphNodeType *type) {
  RONDO_EMULATED(cudaGraphNodeGetType);
  const Operation &operation = contentOf(node).operation;
  *type = operation.memset   ? cudaGraphNodeTypeMemset
          : operation.memcpy ? cudaGraphNodeTypeMemcpy
                             : cudaGraphNodeTypeKernel;
  return cudaSuccess;
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node,
                                         cudaMemsetParams *params) {
  RONDO_EMULATED(cudaGraphMemsetNodeGetParams);
  const auto &memset = contentOf(node).operation.memset;
  if (!memset)
    return remember(cudaErrorInvalidValue);
  *params = *memset;
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node,
                                         cudaGraphNode_t *nodes,
                                         cudaGraphEdgeData *, size_t *count) {
  RONDO_EMULATED(cudaGraphNodeGetDependencies);
  return list(*node->graph, contentOf(node).before, nodes, count);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node,
                                           cudaGraphNode_t *nodes,
                                           cudaGraphEdgeData *, size_t *count) {
  RONDO_EMULATED(cudaGraphNodeGetDependentNodes);
  return list(*node->graph, contentOf(node).after, nodes, count);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to,
                                     const cudaGraphEdgeData *, size_t count) {
  RONDO_EMULATED(cudaGraphAddDependencies);
  for (size_t i = 0; i < count; ++i) {
    contentOf(from[i]).after.push_back(static_cast<int>(to[i]->number));
    contentOf(to[i]).before.push_back(static_cast<int>(from[i]->number));
  }
  return cudaSuccess;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                   const cudaGraphNode_t *before, size_t count,
                                   const cudaKernelNodeParams *params) {
  RONDO_EMULATED(cudaGraphAddKernelNode);
  cudaError_t error =
      checkLaunch(params->func, params->gridDim, params->blockDim,
                  params->sharedMemBytes, nullptr);
  if (error != cudaSuccess)
    return error;
  // Arguments are copied at the call.
  std::array<uint64_t, 3> arguments;
  for (size_t i = 0; i < arguments.size(); ++i)
    std::memcpy(&arguments[i], params->kernelParams[i], sizeof(uint64_t));
  auto run = [arguments, params = *params] {
    auto *kernel =
        reinterpret_cast<void (*)(uint64_t, uint64_t, uint64_t)>(params.func);
    runGrid(params.gridDim, params.blockDim, params.sharedMemBytes,
            [&] { kernel(arguments[0], arguments[1], arguments[2]); });
  };
  const size_t number = graph->nodes.size();
  graph->nodes.push_back({{nullptr, run}, {}, {}});
  graph->handles.push_back(
      std::make_unique<GraphNode>(GraphNode{graph, number}));
  *node = graph->handles.back().get();
  const std::vector<cudaGraphNode_t> to(count, *node);
  return cudaGraphAddDependencies(graph, before, to.data(), nullptr, count);
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  RONDO_EMULATED(cudaGraphDestroyNode);
  Graph &graph = *node->graph;
  const auto number = static_cast<int>(node->number);
  Node &content = contentOf(node);
  const auto erase = [number](std::vector<int> &numbers) {
    numbers.erase(std::remove(numbers.begin(), numbers.end(), number),
                  numbers.end());
  };
  for (int before : content.before)
    erase(graph.nodes[static_cast<size_t>(before)].after);
  for (int after : content.after)
    erase(graph.nodes[static_cast<size_t>(after)].before);
  content = {{nullptr, [] {}}, {}, {}};
  graph.handles[static_cast<size_t>(number)] = nullptr;
  return cudaSuccess;
}
