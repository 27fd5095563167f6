//===- target.cpp - What tasks of exported layers enqueue -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// prepareOnDevice() and runTaskOnDevice() of rondo_torch.h: a task's graph, and
// the operations that the graph calls, on the stream of its rank.
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/cuda/attention.h"
#include "runtime/bodies/cuda/kernels.h"
#include "runtime/torch/cuda/kernels.h"
#include "runtime/torch/cuda/state.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <type_traits>

namespace rondo::torch {

namespace cuda = runtime::cuda;

CudaTarget::CudaTarget(DeviceLayer &layer, void *stream) : layer(layer) {
  own.handle = static_cast<cudaStream_t>(stream);
  if (cuda::customStream && cuda::customStream->handle == own.handle)
    own = *cuda::customStream;
  else
    own.gemms = &layer.graphs->gemms();
}

void CudaTarget::copy(char *to, const char *from, int64_t bytes) {
  RONDO_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes),
                             cudaMemcpyDeviceToDevice, own.handle));
}

void CudaTarget::clear(char *to, int64_t bytes) {
  RONDO_CUDA(cudaMemsetAsync(to, 0, static_cast<size_t>(bytes), own.handle));
}

int32_t CudaTarget::run(const Task &task, std::vector<Tensor *> &inputs,
                        std::vector<Tensor *> &outputs) {
  return runContainer(*this, *task.deviceGraph,
                      layer.graphs->container(*task.deviceGraph), inputs,
                      outputs);
}

void CudaTarget::copyElements(const Tensor &to, const Tensor &from,
                              const int64_t *strides) {
  copyStrided(own, to, from, strides);
}

static runtime::DType typeOf(int32_t dtype) {
  return dtype == int32_t(ScalarType::BFloat16) ? runtime::DType::Bf16
                                                : runtime::DType::Fp32;
}

/// The largest power of 2, up to a pack's 16 bytes, that all are multiples of.
static uint32_t alignmentOf(std::initializer_list<int64_t> places) {
  uint32_t alignment = 16;
  for (const int64_t place : places)
    while (place % alignment != 0)
      alignment /= 2;
  return alignment;
}

void CudaTarget::multiply(const MatrixProduct &of) {
  cuda::Product product{};
  product.rows = of.rows;
  product.columns = of.columns;
  product.inner = of.inner;
  product.type = typeOf(of.type);
  product.resultType = typeOf(of.resultType);
  product.a = {of.a.data, of.a.stride, of.a.transposed, of.a.sampleStride};
  product.b = {of.b.data, of.b.stride, of.b.transposed, of.b.sampleStride};
  product.c = of.accumulates ? of.d : nullptr;
  product.d = of.d;
  product.stride = of.stride;
  product.alpha = of.alpha;
  product.samples = of.samples;
  product.sampleStride = of.sampleStride;
  if (of.bias) {
    product.epilogue = cuda::Epilogue::Bias;
    product.bias = of.bias;
  }
  const int64_t bytes = bytesOf(of.type), resultBytes = bytesOf(of.resultType);
  auto address = [](const char *data) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(data));
  };
  product.alignment =
      alignmentOf({address(of.a.data), address(of.b.data), address(of.d),
                   address(of.bias), of.a.sampleStride * bytes,
                   of.b.sampleStride * bytes, of.sampleStride * resultBytes});
  own.gemms->multiply(
      own, product,
      cuda::workspaceIn(of.scratch,
                        of.scratchBytes - cuda::gemmRegionBytes(0)));
}

//===----------------------------------------------------------------------===//
// Attention: cuDNN's, or by Rondo's own kernels.
//===----------------------------------------------------------------------===//

static cuda::AttentionShape shapeOf(const PackedAttention &of) {
  const int width = static_cast<int>(of.width);
  const int heads = static_cast<int>(of.heads);
  const int kvHeads = static_cast<int>(of.kvHeads);
  return {static_cast<int>(of.samples),
          static_cast<int>(of.tokens),
          heads,
          width,
          kvHeads,
          static_cast<int>(of.keys),
          static_cast<int>(of.values),
          static_cast<int>(of.rowElements)};
}

/// Calls run(qkv, out) with their addresses in the type of `of`.
template <typename Run>
static void withType(const PackedAttention &of, const Run &run) {
  if (of.dtype == int32_t(ScalarType::BFloat16))
    run(reinterpret_cast<__nv_bfloat16 *>(of.qkv),
        reinterpret_cast<__nv_bfloat16 *>(of.out));
  else
    run(reinterpret_cast<float *>(of.qkv), reinterpret_cast<float *>(of.out));
}

void CudaTarget::attend(const PackedAttention &of) {
  withType(of, [&](auto *qkv, auto *out) {
    cuda::attentionForward(own, shapeOf(of), qkv, out, of.logSumExp);
  });
}

void CudaTarget::attendBackward(const PackedAttention &of, const char *outGrad,
                                char *queryGrad, float *rowDots) {
  withType(of, [&](auto *qkv, auto *out) {
    using T = std::remove_pointer_t<decltype(out)>;
    cuda::attentionInputGrad(own, shapeOf(of), qkv, out,
                             reinterpret_cast<const T *>(outGrad), of.logSumExp,
                             reinterpret_cast<T *>(queryGrad), rowDots);
  });
}

void CudaTarget::addRows(const RowSums &of) {
  if (of.rows == 0)
    return;
  const auto *indices = reinterpret_cast<const int32_t *>(of.indices);
  if (of.indexType == int32_t(ScalarType::Int64)) {
    narrowIndices(own, of.rows, reinterpret_cast<const int64_t *>(of.indices),
                  of.narrow);
    indices = of.narrow;
  }
  const cuda::Documents one(1, static_cast<int>(of.rows));
  auto add = [&](auto *rows) {
    cuda::embeddingWeightGrad(own, one, 0, of.columns, indices, rows, of.sums,
                              nullptr);
  };
  if (of.rowType == int32_t(ScalarType::BFloat16))
    add(reinterpret_cast<const __nv_bfloat16 *>(of.values));
  else
    add(reinterpret_cast<const float *>(of.values));
}

//===----------------------------------------------------------------------===//
// Tasks.
//===----------------------------------------------------------------------===//

/// Whether a task reads scalars.
static bool readsScalars(const Task &task) {
  auto isScalar = [](const Place &place) {
    return place.space == Space::LossScale || place.space == Space::RandomKey;
  };
  return std::any_of(
             task.inputs, task.inputs + task.numInputs,
             [&](const Value &value) { return isScalar(value.place); }) ||
         std::any_of(task.copies, task.copies + task.numCopies,
                     [&](const Copy &copy) { return isScalar(copy.from); });
}

const char *runTaskOnDevice(const Task &task, const rondo_layer &layer,
                            const rondo_task &buffers) try {
  auto &state = *static_cast<DeviceLayer *>(buffers.state);
  CudaTarget target(state, buffers.stream);
  auto *scalars = reinterpret_cast<DeviceScalars *>(state.scalars.get());
  if (readsScalars(task)) {
    cuda::Stream stream;
    stream.handle = static_cast<cudaStream_t>(buffers.stream);
    writeScalars(stream, scalars, static_cast<float>(buffers.loss_scale),
                 RandomKeys(layer, buffers), buffers.iteration,
                 buffers.iteration_on_device);
  }
  const Extras extras{&scalars->lossScale, &scalars->randomKey,
                      state.constants ? state.constants->get() : nullptr};
  return runTaskOn(target, task, Spaces(buffers, extras));
} catch (const std::exception &error) {
  Allocator::here() = nullptr;
  fail(error.what());
  return lastFault().c_str();
}

const char *prepareOnDevice(const DeviceBody &body, const rondo_layer &layer,
                            const rondo_task &buffers) {
  for (int32_t t = 0; t < body.numTasks; ++t)
    if (const char *what = runTaskOnDevice(*body.tasks[t], layer, buffers))
      return what;
  return nullptr;
}

} // namespace rondo::torch
