//===- layers.h - The bodies of CUDA layers ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies enqueue kernels and products on the stream of LayerArgs and read
// nothing back. T is the type of activations.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_LAYERS_H
#define RONDO_RUNTIME_BODIES_CUDA_LAYERS_H

#include "runtime/bodies/body.h"
#include "runtime/bodies/cuda/gemm.h"
#include "runtime/model/cuda_layouts.h"

#include <cuda_bf16.h>

namespace rondo::runtime {

/// The computation of a layer whose activations have this type. LayerArgs
/// points to device memory; its stream is a cuda::Stream with Gemms. Tasks only
/// enqueue: after the first one of a shape they call nothing that a graph
/// cannot record. They throw Error if that fails.
const LayerBody &cudaBody(LayerKind kind, DType dtype);

namespace cuda {
LayerBody syntheticBody();
} // namespace cuda

} // namespace rondo::runtime

namespace rondo::runtime::cuda {

using Bf16 = __nv_bfloat16;

template <typename T> LayerBody embeddingBody();
template <typename T> LayerBody blockBody();
template <typename T> LayerBody headBody();
template <typename T> LayerBody llamaBlockBody();

/// A head with limits other than those of HeadChunks(layer), for tests.
template <typename T>
void headForward(const LayerDesc &layer, const HeadChunks &chunks,
                 const LayerArgs &args);
template <typename T>
void headInputGrad(const LayerDesc &layer, const HeadChunks &chunks,
                   const LayerArgs &args);
template <typename T>
void headWeightGrad(const LayerDesc &layer, const HeadChunks &chunks,
                    const LayerArgs &args);

template <typename T> constexpr DType dtypeOf() {
  return sizeof(T) == 2 ? DType::Bf16 : DType::Fp32;
}

/// The part of a buffer that starts at a byte offset.
template <typename T> T *region(void *buffer, int64_t offset) {
  return reinterpret_cast<T *>(static_cast<char *>(buffer) + offset);
}
template <typename T> T *region(const SavedPlace &place) {
  return region<T>(place.base, place.offset);
}
template <typename T> const T *region(const void *buffer, int64_t offset) {
  return reinterpret_cast<const T *>(static_cast<const char *>(buffer) +
                                     offset);
}

inline const Stream &streamOf(const LayerArgs &args) {
  return *static_cast<const Stream *>(args.stream);
}

/// A layer's weights: the masters and what products read, at offsets in
/// elements.
template <typename T> class WeightsView {
public:
  WeightsView(const LayerArgs &args, int64_t elements)
      : master(static_cast<const float *>(args.weights)),
        copy(sizeof(T) == 2 && args.weightsInDtype
                 ? static_cast<const T *>(args.weightsInDtype)
                 : region<T>(args.weights,
                             sizeof(T) == 2 ? alignedBytes(floatBytes(elements))
                                            : 0)) {}
  const float *fp32(int64_t offset) const { return master + offset; }
  const T *operator[](int64_t offset) const { return copy + offset; }

private:
  const float *master;
  const T *copy;
};

/// A linear layer's three products. Weights are [in][out].
template <typename T> struct Linear {
  const Stream &stream;
  GemmWorkspace workspace;
  int64_t rows;

  /// y [rows, out] = x w + bias + residual; the residual may be null, or y.
  void forward(int64_t in, int64_t out, const T *x, const T *w, const T *bias,
               const T *residual, T *y) const;
  /// dx = dy w^T.
  void inputGrad(int64_t in, int64_t out, const T *dy, const T *w, T *dx) const;
  /// dw += x^T dy.
  void weightGrad(int64_t in, int64_t out, const T *x, const T *dy,
                  float *dw) const;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_LAYERS_H
