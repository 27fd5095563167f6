// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A body that runs on the CPU in fp32, and on CUDA in fp32 and bf16:
// y = x * (1 + gain), with a gain for each column.

#include <rondo_body.h>

#include <cstring>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace {

struct Shape {
  int64_t rows, columns, elementBytes;
  // The gradient of y is saved for W, after x.
  int64_t savedBytes;
};

Shape shapeOf(const rondo_layer *layer) {
  Shape shape{layer->batch * layer->sequence, layer->hidden,
              layer->dtype == RONDO_DTYPE_BF16 ? 2 : 4, 0};
  shape.savedBytes =
      (shape.rows * shape.columns * shape.elementBytes + 63) / 64 * 64;
  return shape;
}

const char *sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  const Shape shape = shapeOf(layer);
  sizes->weight_bytes = 4 * shape.columns;
  sizes->saved_for_weight_grad_bytes = 2 * shape.savedBytes;
  sizes->output_bytes = shape.rows * shape.columns * shape.elementBytes;
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

/// y = x * (1 + gain), and x is kept.
template <typename T>
__host__ __device__ void scale(const T *x, const T *gain, T *y, T *kept,
                               int64_t i, int64_t columns) {
  kept[i] = x[i];
  store(&y[i], toFloat(x[i]) * (1 + toFloat(gain[i % columns])));
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

// On the CPU.

void scaleAll(const rondo_layer *layer, const rondo_task *task,
              const void *from, void *to, char *kept) {
  const Shape shape = shapeOf(layer);
  for (int64_t i = 0; i < shape.rows * shape.columns; ++i)
    scale(static_cast<const float *>(from),
          static_cast<const float *>(task->weights), static_cast<float *>(to),
          reinterpret_cast<float *>(kept), i, shape.columns);
}

char *savedOf(const rondo_task *task) {
  return static_cast<char *>(task->saved_for_weight_grad);
}

void forward(const rondo_layer *layer, const rondo_task *task) {
  scaleAll(layer, task, task->inputs[0], task->output, savedOf(task));
}
void inputGrad(const rondo_layer *layer, const rondo_task *task) {
  scaleAll(layer, task, task->output_grad, task->input_grads[0],
           savedOf(task) + shapeOf(layer).savedBytes);
}
void weightGrad(const rondo_layer *layer, const rondo_task *task) {
  const Shape shape = shapeOf(layer);
  for (int64_t column = 0; column < shape.columns; ++column)
    addColumn(reinterpret_cast<const float *>(savedOf(task)),
              reinterpret_cast<const float *>(savedOf(task) + shape.savedBytes),
              static_cast<float *>(task->gradients), column, shape);
}

// On CUDA.

template <typename T>
__global__ void scaleKernel(const T *x, const T *gain, T *y, T *kept,
                            int64_t count, int64_t columns) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count)
    scale(x, gain, y, kept, i, columns);
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
                  const void *from, void *to, char *kept) {
  const Shape shape = shapeOf(layer);
  const int64_t count = shape.rows * shape.columns;
  const cudaLaunchConfig_t config = configFor(count, task->stream);
  cudaLaunchKernelEx(&config, scaleKernel<T>, static_cast<const T *>(from),
                     static_cast<const T *>(task->weights_in_dtype),
                     static_cast<T *>(to), reinterpret_cast<T *>(kept), count,
                     shape.columns);
}

template <typename T>
void enqueueColumns(const rondo_layer *layer, const rondo_task *task) {
  const Shape shape = shapeOf(layer);
  const cudaLaunchConfig_t config = configFor(shape.columns, task->stream);
  cudaLaunchKernelEx(
      &config, columnKernel<T>, reinterpret_cast<const T *>(savedOf(task)),
      reinterpret_cast<const T *>(savedOf(task) + shape.savedBytes),
      static_cast<float *>(task->gradients), shape);
}

bool isBf16(const rondo_layer *layer) {
  return layer->dtype == RONDO_DTYPE_BF16;
}

void cudaForward(const rondo_layer *layer, const rondo_task *task) {
  (isBf16(layer) ? enqueueScale<__nv_bfloat16>
                 : enqueueScale<float>)(layer, task, task->inputs[0],
                                        task->output, savedOf(task));
}
void cudaInputGrad(const rondo_layer *layer, const rondo_task *task) {
  (isBf16(layer)
       ? enqueueScale<__nv_bfloat16>
       : enqueueScale<float>)(layer, task, task->output_grad,
                              task->input_grads[0],
                              savedOf(task) + shapeOf(layer).savedBytes);
}
void cudaWeightGrad(const rondo_layer *layer, const rondo_task *task) {
  (isBf16(layer) ? enqueueColumns<__nv_bfloat16> : enqueueColumns<float>)(layer,
                                                                          task);
}

} // namespace

RONDO_BODY(scale) = {RONDO_BODY_VERSION,
                     1,
                     1,
                     sizes,
                     tensors,
                     {forward, inputGrad, weightGrad},
                     {cudaForward, cudaInputGrad, cudaWeightGrad}};
