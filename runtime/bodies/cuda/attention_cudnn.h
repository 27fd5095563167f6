//===- attention_cudnn.h - Attention by cuDNN -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same function as attention.h's, by NVIDIA's library where it is there: on
// an H200 it takes 0.6 to 0.8 of the time. By its deterministic algorithm, so
// that the bits are the same each time. Loaded when a program starts; nothing
// links it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_ATTENTION_CUDNN_H
#define RONDO_RUNTIME_BODIES_CUDA_ATTENTION_CUDNN_H

#include "runtime/bodies/cuda/attention.h"

#include <cuda_bf16.h>
#include <memory>
#include <string>

namespace rondo::runtime::cuda {

/// One rank's handle of cuDNN and its plans, one for each shape. Used by one
/// host thread at a time.
class CudnnAttention {
public:
  /// On the current device. Null if this program was built without cuDNN's
  /// headers or if the library cannot be loaded; the reason is then in `why`.
  static std::unique_ptr<CudnnAttention> load(std::string &why);
  ~CudnnAttention();
  CudnnAttention(const CudnnAttention &) = delete;
  CudnnAttention &operator=(const CudnnAttention &) = delete;

  /// Like attentionForward() and attentionInputGrad(). False if the library
  /// refuses the shape; then nothing is enqueued. The first call with a shape
  /// plans it, which takes up to seconds and must not be recorded in a graph.
  bool forward(const Stream &stream, const AttentionShape &shape,
               const __nv_bfloat16 *qkv, __nv_bfloat16 *output,
               float *logSumExp);
  bool inputGrad(const Stream &stream, const AttentionShape &shape,
                 __nv_bfloat16 *qkv, const __nv_bfloat16 *output,
                 const __nv_bfloat16 *outputGrad, const float *logSumExp);

  /// Device memory that plans take, outside of the arena; 0: none has been
  /// made.
  int64_t bytes() const;
  /// Text of the library's last refusal of a shape; empty if it never refused
  /// one.
  const std::string &refusal() const;
  /// `9.19.0`.
  std::string version() const;

private:
  struct Library;
  explicit CudnnAttention(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_ATTENTION_CUDNN_H
