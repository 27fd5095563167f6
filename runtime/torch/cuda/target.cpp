//===- target.cpp - What tasks of exported layers enqueue -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/torch/cuda/kernels.h"
#include "runtime/torch/cuda/state.h"

#include <cstddef>
#include <initializer_list>

namespace rondo::torch {

namespace cuda = runtime::cuda;

CudaTarget::CudaTarget(DeviceLayer &layer, void *stream) : layer(layer) {
  own.handle = static_cast<cudaStream_t>(stream);
  own.gemms = &layer.graphs->gemms;
}

void CudaTarget::copy(char *to, const char *from, int64_t bytes) {
  RONDO_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes),
                             cudaMemcpyDeviceToDevice, own.handle));
}

void CudaTarget::clear(char *to, int64_t bytes) {
  RONDO_CUDA(
      cudaMemsetAsync(to, 0, static_cast<size_t>(bytes), own.handle));
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
  product.alignment = alignmentOf(
      {address(of.a.data), address(of.b.data), address(of.d), address(of.bias),
       of.a.sampleStride * bytes, of.b.sampleStride * bytes,
       of.sampleStride * resultBytes});
  layer.graphs->gemms.multiply(
      own, product,
      cuda::workspaceIn(of.scratch, of.scratchBytes -
                                        cuda::gemmRegionBytes(0)));
}

//===----------------------------------------------------------------------===//
// Tasks.
//===----------------------------------------------------------------------===//

/// Whether a task reads scalars.
static bool readsScalars(const Task &task) {
  for (int32_t i = 0; i < task.numInputs; ++i)
    if (const Space space = task.inputs[i].place.space;
        space == Space::LossScale || space == Space::RandomKey)
      return true;
  return false;
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
