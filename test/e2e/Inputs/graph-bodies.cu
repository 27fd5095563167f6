// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bodies of skip.mlir and towers.mlir on CUDA, in fp32 and bf16: what
// blend.c and bodies.cpp do on the CPU.

#include <rondo_body.h>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace {

constexpr int32_t maxInputs = 8;

__device__ float toFloat(float value) { return value; }
__device__ float toFloat(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__device__ void store(float *to, float value) { *to = value; }
__device__ void store(__nv_bfloat16 *to, float value) {
  *to = __float2bfloat16(value);
}

/// All that a kernel reads and writes.
template <typename T> struct Buffers {
  int64_t count, microbatch;
  int32_t numInputs;
  const T *weights, *inputs[maxInputs];
  T *inputGrads[maxInputs];
  T *kept, *output;
  const T *outputGrad;
  float *gradients, *loss;
  float scale;
};

int64_t bytesOf(const rondo_layer *layer) {
  return layer->dtype == RONDO_DTYPE_BF16 ? 2 : 4;
}

int64_t countOf(const rondo_layer *layer) {
  return layer->num_parameters == 1 ? layer->parameters[0]
                                    : layer->input_bytes[0] / bytesOf(layer);
}

template <typename T>
void enqueue(const rondo_layer *layer, const rondo_task *task,
             void (*kernel)(Buffers<T>)) {
  Buffers<T> buffers{};
  buffers.count = countOf(layer);
  buffers.microbatch = task->microbatch;
  buffers.numInputs = layer->num_inputs;
  buffers.weights = static_cast<const T *>(task->weights_in_dtype);
  for (int32_t k = 0; k < layer->num_inputs; ++k) {
    buffers.inputs[k] = static_cast<const T *>(task->inputs[k]);
    buffers.inputGrads[k] = static_cast<T *>(task->input_grads[k]);
  }
  buffers.kept =
      static_cast<T *>(layer->num_parameters == 1 ? task->saved_for_weight_grad
                                                  : task->saved_for_input_grad);
  buffers.output = static_cast<T *>(task->output);
  buffers.outputGrad = static_cast<const T *>(task->output_grad);
  buffers.gradients = static_cast<float *>(task->gradients);
  buffers.loss = task->loss;
  buffers.scale =
      static_cast<float>(2 * task->loss_scale / double(buffers.count));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>((buffers.count + 63) / 64));
  config.blockDim = dim3(64);
  config.stream = static_cast<cudaStream_t>(task->stream);
  cudaLaunchKernelEx(&config, kernel, buffers);
}

#define RONDO_TASK(NAME)                                                       \
  const char *NAME(const rondo_layer *layer, const rondo_task *task) {         \
    if (layer->dtype == RONDO_DTYPE_BF16)                                      \
      enqueue<__nv_bfloat16>(layer, task, NAME##Kernel<__nv_bfloat16>);        \
    else                                                                       \
      enqueue<float>(layer, task, NAME##Kernel<float>);                        \
    return nullptr;                                                            \
  }

__device__ int64_t ownIndex() {
  return int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
}

// blend: a weighted sum of its inputs.

__device__ float factorOf(int32_t input) {
  return 0.3f + 0.7f / static_cast<float>(input + 2);
}

template <typename T> __global__ void blendForwardKernel(Buffers<T> b) {
  const int64_t i = ownIndex();
  if (i >= b.count)
    return;
  float sum = 0;
  for (int32_t k = 0; k < b.numInputs; ++k)
    sum += factorOf(k) * toFloat(b.inputs[k][i]);
  store(&b.kept[i], sum);
  store(&b.output[i], toFloat(b.weights[i]) * sum);
}

template <typename T> __global__ void blendInputGradKernel(Buffers<T> b) {
  const int64_t i = ownIndex();
  if (i >= b.count)
    return;
  b.kept[b.count + i] = b.outputGrad[i];
  for (int32_t k = 0; k < b.numInputs; ++k)
    store(&b.inputGrads[k][i],
          toFloat(b.outputGrad[i]) * toFloat(b.weights[i]) * factorOf(k));
}

template <typename T> __global__ void blendWeightGradKernel(Buffers<T> b) {
  const int64_t i = ownIndex();
  if (i < b.count)
    b.gradients[i] += toFloat(b.kept[i]) * toFloat(b.kept[b.count + i]);
}

RONDO_TASK(blendForward)
RONDO_TASK(blendInputGrad)
RONDO_TASK(blendWeightGrad)

// source: numbers that depend on the micro-batch.

template <typename T> __global__ void sourceForwardKernel(Buffers<T> b) {
  const int64_t i = ownIndex();
  if (i < b.count)
    store(&b.output[i],
          toFloat(b.weights[i]) +
              0.01f * static_cast<float>((7 * b.microbatch + 3 * i) % 11));
}

template <typename T> __global__ void sourceInputGradKernel(Buffers<T> b) {
  const int64_t i = ownIndex();
  if (i < b.count)
    b.kept[i] = b.outputGrad[i];
}

template <typename T> __global__ void sourceWeightGradKernel(Buffers<T> b) {
  const int64_t i = ownIndex();
  if (i < b.count)
    b.gradients[i] += toFloat(b.kept[i]);
}

RONDO_TASK(sourceForward)
RONDO_TASK(sourceInputGrad)
RONDO_TASK(sourceWeightGrad)

// squares: how far its input is from 1.

template <typename T> __global__ void squaresForwardKernel(Buffers<T> b) {
  const int64_t i = ownIndex();
  if (i < b.count)
    store(&b.kept[i], toFloat(b.inputs[0][i]) - 1);
  if (i != 0)
    return;
  float sum = 0;
  for (int64_t k = 0; k < b.count; ++k) {
    const float difference = toFloat(b.inputs[0][k]) - 1;
    sum += difference * difference;
  }
  *b.loss = sum / static_cast<float>(b.count);
}

template <typename T> __global__ void squaresInputGradKernel(Buffers<T> b) {
  const int64_t i = ownIndex();
  if (i < b.count)
    store(&b.inputGrads[0][i], b.scale * toFloat(b.kept[i]));
}

RONDO_TASK(squaresForward)
RONDO_TASK(squaresInputGrad)
const char *squaresWeightGrad(const rondo_layer *, const rondo_task *) {
  return nullptr;
}

const char *blendSizes(const rondo_layer *layer, rondo_sizes *sizes) {
  sizes->weight_bytes = 4 * countOf(layer);
  sizes->output_bytes = bytesOf(layer) * countOf(layer);
  sizes->saved_for_weight_grad_bytes = 2 * sizes->output_bytes;
  return nullptr;
}

const char *sourceSizes(const rondo_layer *layer, rondo_sizes *sizes) {
  blendSizes(layer, sizes);
  sizes->saved_for_weight_grad_bytes = sizes->output_bytes;
  return nullptr;
}

const char *squaresSizes(const rondo_layer *layer, rondo_sizes *sizes) {
  sizes->saved_for_input_grad_bytes = layer->input_bytes[0];
  sizes->workspace_bytes = layer->input_bytes[0];
  return nullptr;
}

template <int32_t init>
int32_t weights(const rondo_layer *layer, rondo_tensor *tensors,
                int32_t capacity) {
  if (capacity > 0)
    tensors[0] = {"weight", 1, {countOf(layer), 1}, 0, init, 0, 0};
  return 1;
}

int32_t none(const rondo_layer *, rondo_tensor *, int32_t) { return 0; }

} // namespace

RONDO_BODY(blend) = {
    RONDO_BODY_VERSION,
    1,
    maxInputs,
    blendSizes,
    weights<RONDO_INIT_ONES>,
    {},
    {blendForward, blendInputGrad, blendWeightGrad, nullptr, nullptr},
    nullptr,
    nullptr,
    0};
RONDO_BODY(source) = {
    RONDO_BODY_VERSION,
    0,
    0,
    sourceSizes,
    weights<RONDO_INIT_ZEROS>,
    {},
    {sourceForward, sourceInputGrad, sourceWeightGrad, nullptr, nullptr},
    nullptr,
    nullptr,
    0};
RONDO_BODY(squares) = {
    RONDO_BODY_VERSION,
    1,
    1,
    squaresSizes,
    none,
    {},
    {squaresForward, squaresInputGrad, squaresWeightGrad, nullptr, nullptr},
    nullptr,
    nullptr,
    0};
