// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A body that runs on the CPU in fp32, and on CUDA in fp32 and bf16:
// y = x * (1 + gain), with a gain for each column, times a factor that depends
// on the iteration and the element's place in the micro-batch. On CUDA its
// tasks want prepare().

#include <rondo_body.h>

#include <cstring>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace {

struct Shape {
  int64_t rows, columns, elementBytes;
  int64_t bytes;
  /// The first element's place in the micro-batch, which replicas may divide.
  int64_t first;
};

Shape shapeOf(const rondo_layer *layer) {
  Shape shape{layer->batch * layer->sequence, layer->hidden,
              layer->dtype == RONDO_DTYPE_BF16 ? 2 : 4, 0,
              layer->first_sample * layer->sequence * layer->hidden};
  shape.bytes = shape.rows * shape.columns * shape.elementBytes;
  return shape;
}

const char *sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  const Shape shape = shapeOf(layer);
  sizes->weight_bytes = 4 * shape.columns;
  sizes->saved_for_weight_grad_bytes = shape.bytes;
  sizes->kept_for_weight_grad_bytes = shape.bytes;
  sizes->output_bytes = shape.bytes;
  return nullptr;
}

int32_t tensors(const rondo_layer *layer, rondo_tensor *tensors,
                int32_t capacity) {
  if (capacity > 0)
    tensors[0] = {"gain", 1, {layer->hidden, 1}, 0, RONDO_INIT_NORMAL, 0, 0};
  return 1;
}

__host__ __device__ inline float toFloat(float value) { return value; }
__host__ __device__ inline float toFloat(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__host__ __device__ inline void store(float *to, float value) { *to = value; }
__host__ __device__ inline void store(__nv_bfloat16 *to, float value) {
  *to = __float2bfloat16(value);
}

__host__ __device__ inline float factorOf(int64_t iteration, int64_t i) {
  return 1 + 0.25f * static_cast<float>((iteration + i) % 3);
}

/// y = x * (1 + gain) * factor. F keeps x; I, whose x is the gradient, keeps
/// that times the factor.
template <typename T>
__host__ __device__ void scale(const T *x, const T *gain, T *y, T *kept,
                               int64_t i, Shape shape, int64_t iteration,
                               bool isInputGrad) {
  const float factor = factorOf(iteration, shape.first + i);
  store(&kept[i], toFloat(x[i]) * (isInputGrad ? factor : 1));
  store(&y[i], toFloat(x[i]) * (1 + toFloat(gain[i % shape.columns])) * factor);
}

/// One column's gradient, one row after another.
template <typename T>
__host__ __device__ void addColumn(const T *x, const T *grad, float *gradients,
                                   int64_t column, Shape shape) {
  float sum = 0;
  for (int64_t r = 0; r < shape.rows; ++r)
    sum += toFloat(x[r * shape.columns + column]) *
           toFloat(grad[r * shape.columns + column]);
  gradients[column] += sum;
}

/// Of a layer on a rank.
struct State {
  bool isPrepared = false;
};

const char *load(const rondo_layer *, int32_t, int32_t, void **state) {
  *state = new State;
  return nullptr;
}
void unload(const rondo_layer *, void *state) {
  delete static_cast<State *>(state);
}

// On the CPU.

void scaleAll(const rondo_layer *layer, const rondo_task *task,
              const void *from, void *to, void *kept, bool isInputGrad) {
  const Shape shape = shapeOf(layer);
  for (int64_t i = 0; i < shape.rows * shape.columns; ++i)
    scale(static_cast<const float *>(from),
          static_cast<const float *>(task->weights), static_cast<float *>(to),
          static_cast<float *>(kept), i, shape, task->iteration, isInputGrad);
}

const char *forward(const rondo_layer *layer, const rondo_task *task) {
  scaleAll(layer, task, task->inputs[0], task->output,
           task->saved_for_weight_grad, false);
  return nullptr;
}
const char *inputGrad(const rondo_layer *layer, const rondo_task *task) {
  scaleAll(layer, task, task->output_grad, task->input_grads[0],
           task->kept_for_weight_grad, true);
  return nullptr;
}
const char *weightGrad(const rondo_layer *layer, const rondo_task *task) {
  const Shape shape = shapeOf(layer);
  for (int64_t column = 0; column < shape.columns; ++column)
    addColumn(static_cast<const float *>(task->saved_for_weight_grad),
              static_cast<const float *>(task->kept_for_weight_grad),
              static_cast<float *>(task->gradients), column, shape);
  return nullptr;
}

// On CUDA.

template <typename T>
__global__ void scaleKernel(const T *x, const T *gain, T *y, T *kept,
                            Shape shape, const int64_t *iteration,
                            bool isInputGrad) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < shape.rows * shape.columns)
    scale(x, gain, y, kept, i, shape, *iteration, isInputGrad);
}

template <typename T>
__global__ void columnKernel(const T *x, const T *grad, float *gradients,
                             Shape shape) {
  const int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column < shape.columns)
    addColumn(x, grad, gradients, column, shape);
}

cudaLaunchConfig_t configFor(int64_t count, void *stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>((count + 63) / 64));
  config.blockDim = dim3(64);
  config.stream = static_cast<cudaStream_t>(stream);
  return config;
}

template <typename T>
void enqueueScale(const rondo_layer *layer, const rondo_task *task,
                  bool isInputGrad) {
  const Shape shape = shapeOf(layer);
  const cudaLaunchConfig_t config =
      configFor(shape.rows * shape.columns, task->stream);
  const void *from = isInputGrad ? task->output_grad : task->inputs[0];
  void *to = isInputGrad ? task->input_grads[0] : task->output,
       *kept = isInputGrad ? task->kept_for_weight_grad
                           : task->saved_for_weight_grad;
  cudaLaunchKernelEx(&config, scaleKernel<T>, static_cast<const T *>(from),
                     static_cast<const T *>(task->weights_in_dtype),
                     static_cast<T *>(to), static_cast<T *>(kept), shape,
                     task->iteration_on_device, isInputGrad);
}

template <typename T>
void enqueueColumns(const rondo_layer *layer, const rondo_task *task) {
  const Shape shape = shapeOf(layer);
  const cudaLaunchConfig_t config = configFor(shape.columns, task->stream);
  cudaLaunchKernelEx(&config, columnKernel<T>,
                     static_cast<const T *>(task->saved_for_weight_grad),
                     static_cast<const T *>(task->kept_for_weight_grad),
                     static_cast<float *>(task->gradients), shape);
}

/// What is wrong with a task; null: nothing.
const char *check(const rondo_task *task) {
  return static_cast<State *>(task->state)->isPrepared ? nullptr
                                                       : "it is not prepared";
}

const char *cudaScale(const rondo_layer *layer, const rondo_task *task,
                      bool isInputGrad) {
  if (const char *what = check(task))
    return what;
  const bool isBf16 = layer->dtype == RONDO_DTYPE_BF16;
  (isBf16 ? enqueueScale<__nv_bfloat16> : enqueueScale<float>)(layer, task,
                                                               isInputGrad);
  return nullptr;
}

const char *cudaForward(const rondo_layer *layer, const rondo_task *task) {
  return cudaScale(layer, task, false);
}
const char *cudaInputGrad(const rondo_layer *layer, const rondo_task *task) {
  return cudaScale(layer, task, true);
}
const char *cudaWeightGrad(const rondo_layer *layer, const rondo_task *task) {
  if (const char *what = check(task))
    return what;
  const bool isBf16 = layer->dtype == RONDO_DTYPE_BF16;
  (isBf16 ? enqueueColumns<__nv_bfloat16> : enqueueColumns<float>)(layer, task);
  return nullptr;
}

const char *prepare(const rondo_layer *layer, const rondo_task *task) {
  static_cast<State *>(task->state)->isPrepared = true;
  cudaForward(layer, task);
  cudaInputGrad(layer, task);
  return cudaWeightGrad(layer, task);
}

} // namespace

RONDO_BODY(scale) = {
    RONDO_BODY_VERSION,
    1,
    1,
    sizes,
    tensors,
    {forward, inputGrad, weightGrad, nullptr, nullptr},
    {cudaForward, cudaInputGrad, cudaWeightGrad, nullptr, prepare},
    load,
    unload,
    0};
