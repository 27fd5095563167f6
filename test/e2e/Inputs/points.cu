// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bodies that read streams, on the CPU in fp32 and on CUDA in fp32 and bf16.
// `mix` makes y = (points - shift) * gain + offset of 4 numbers for each
// sample, where offset is frozen; `near` has a loss of the squared distances of
// its input from the sample's label. One thread computes a task.

#include <rondo_body.h>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace {

constexpr int64_t numbers = 4, place = 16;

__host__ __device__ inline float toFloat(float value) { return value; }
__host__ __device__ inline float toFloat(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__host__ __device__ inline void store(float *to, float value) { *to = value; }
__host__ __device__ inline void store(__nv_bfloat16 *to, float value) {
  *to = __float2bfloat16(value);
}

/// What tasks read and write, as values: kernels see no memory of the host.
struct Buffers {
  int64_t batch;
  const void *weights, *first, *second, *outputGrad;
  void *gradients, *savedForInputGrad, *savedForWeightGrad, *output, *inputGrad;
  const void *input;
  float *loss;
  double lossScale;
};

template <typename T> struct MixForward {
  __host__ __device__ static void run(const Buffers &b) {
    const T *weights = static_cast<const T *>(b.weights);
    for (int64_t i = 0; i < b.batch * numbers; ++i) {
      const float x = static_cast<const float *>(b.first)[i] -
                      static_cast<const uint8_t *>(b.second)[i / numbers];
      static_cast<float *>(b.savedForWeightGrad)[i] = x;
      store(&static_cast<T *>(b.output)[i],
            x * toFloat(weights[i % numbers]) +
                toFloat(weights[place + i % numbers]));
    }
  }
};
template <typename T> struct MixInputGrad {
  __host__ __device__ static void run(const Buffers &b) {
    float *saved = static_cast<float *>(b.savedForWeightGrad);
    for (int64_t i = 0; i < b.batch * numbers; ++i)
      saved[i] *= toFloat(static_cast<const T *>(b.outputGrad)[i]);
  }
};
template <typename T> struct MixWeightGrad {
  __host__ __device__ static void run(const Buffers &b) {
    for (int64_t i = 0; i < b.batch * numbers; ++i)
      static_cast<float *>(b.gradients)[i % numbers] +=
          static_cast<const float *>(b.savedForWeightGrad)[i];
  }
};

template <typename T> struct NearForward {
  __host__ __device__ static void run(const Buffers &b) {
    float loss = 0;
    for (int64_t i = 0; i < b.batch * numbers; ++i) {
      const float distance =
          toFloat(static_cast<const T *>(b.input)[i]) -
          float(static_cast<const int32_t *>(b.first)[i / numbers]);
      loss += distance * distance / 2 / float(b.batch);
      static_cast<float *>(b.savedForInputGrad)[i] =
          float(b.lossScale / double(b.batch)) * distance;
    }
    *b.loss = loss;
  }
};
template <typename T> struct NearInputGrad {
  __host__ __device__ static void run(const Buffers &b) {
    for (int64_t i = 0; i < b.batch * numbers; ++i)
      store(&static_cast<T *>(b.inputGrad)[i],
            static_cast<const float *>(b.savedForInputGrad)[i]);
  }
};
template <typename T> struct Nothing {
  __host__ __device__ static void run(const Buffers &) {}
};

Buffers buffersOf(const rondo_layer *layer, const rondo_task *task) {
  Buffers b{};
  b.batch = layer->batch;
  b.weights = task->weights_in_dtype;
  b.first = task->streams[0];
  b.second = layer->num_streams > 1 ? task->streams[1] : nullptr;
  b.outputGrad = task->output_grad;
  b.gradients = task->gradients;
  b.savedForInputGrad = task->saved_for_input_grad;
  b.savedForWeightGrad = task->saved_for_weight_grad;
  b.output = task->output;
  b.inputGrad = layer->num_inputs > 0 ? task->input_grads[0] : nullptr;
  b.input = layer->num_inputs > 0 ? task->inputs[0] : nullptr;
  b.loss = task->loss;
  b.lossScale = task->loss_scale;
  return b;
}

template <typename Task>
const char *onCpu(const rondo_layer *layer, const rondo_task *task) {
  Task::run(buffersOf(layer, task));
  return nullptr;
}

template <typename Task> __global__ void kernel(Buffers buffers) {
  if (threadIdx.x == 0)
    Task::run(buffers);
}

template <template <typename> class Task>
const char *onCuda(const rondo_layer *layer, const rondo_task *task) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.stream = static_cast<cudaStream_t>(task->stream);
  const Buffers buffers = buffersOf(layer, task);
  if (layer->dtype == RONDO_DTYPE_BF16)
    cudaLaunchKernelEx(&config, kernel<Task<__nv_bfloat16>>, buffers);
  else
    cudaLaunchKernelEx(&config, kernel<Task<float>>, buffers);
  return nullptr;
}

int64_t outputBytes(const rondo_layer *layer) {
  return layer->batch * numbers * (layer->dtype == RONDO_DTYPE_BF16 ? 2 : 4);
}

const char *mixSizes(const rondo_layer *layer, rondo_sizes *sizes) {
  sizes->weight_bytes = 4 * 2 * place;
  sizes->frozen_weight_bytes = 4 * place;
  sizes->saved_for_weight_grad_bytes = 4 * layer->batch * numbers;
  sizes->output_bytes = outputBytes(layer);
  return nullptr;
}
int32_t mixTensors(const rondo_layer *, rondo_tensor *tensors,
                   int32_t capacity) {
  if (capacity > 1) {
    tensors[0] = {"gain", 1, {numbers}, 0, RONDO_INIT_ONES, 1, 0};
    tensors[1] = {"offset", 1, {numbers}, place, RONDO_INIT_NORMAL, 1, 1};
  }
  return 2;
}

const char *nearSizes(const rondo_layer *layer, rondo_sizes *sizes) {
  sizes->saved_for_input_grad_bytes = 4 * layer->batch * numbers;
  return nullptr;
}
int32_t noTensors(const rondo_layer *, rondo_tensor *, int32_t) { return 0; }

} // namespace

RONDO_BODY(mix) = {RONDO_BODY_VERSION,
                   0,
                   0,
                   mixSizes,
                   mixTensors,
                   {onCpu<MixForward<float>>, onCpu<MixInputGrad<float>>,
                    onCpu<MixWeightGrad<float>>, nullptr, nullptr},
                   {onCuda<MixForward>, onCuda<MixInputGrad>,
                    onCuda<MixWeightGrad>, nullptr, nullptr},
                   nullptr,
                   nullptr,
                   0};

RONDO_BODY(near) = {RONDO_BODY_VERSION,
                    1,
                    1,
                    nearSizes,
                    noTensors,
                    {onCpu<NearForward<float>>, onCpu<NearInputGrad<float>>,
                     onCpu<Nothing<float>>, nullptr, nullptr},
                    {onCuda<NearForward>, onCuda<NearInputGrad>,
                     onCuda<Nothing>, nullptr, nullptr},
                    nullptr,
                    nullptr,
                    0};
