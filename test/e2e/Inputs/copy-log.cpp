// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linked with a program for emulated GPUs and -Wl,--wrap=cudaMemcpyAsync:
// writes to standard error when copies of more than 1000 bytes to the host are
// enqueued, in ns of the machine's clock, and their bytes.

#include "cuda_runtime.h"

#include <cstdio>
#include <ctime>

extern "C++" cudaError_t enqueue(void *to, const void *from, size_t bytes,
                                 cudaMemcpyKind kind, cudaStream_t stream);
