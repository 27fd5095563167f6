//===- memset_nodes.h - Memory that a recording sets ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_CUDA_MEMSET_NODES_H
#define RONDO_RUNTIME_DEVICE_CUDA_MEMSET_NODES_H

#include <cuda_runtime.h>

namespace rondo::runtime::cuda {

/// Replaces the nodes of a recording that set memory by kernels of the current
/// device that do the same. A launch of the graph costs the host 2 to 3 us for
/// each such node, and next to nothing for a kernel, and cuBLASLt and cuDNN
/// record several in each layer. Memory in two dimensions stays as it is.
void setMemoryByKernels(cudaGraph_t graph);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_DEVICE_CUDA_MEMSET_NODES_H
