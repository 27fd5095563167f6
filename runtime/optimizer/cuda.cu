//===- cuda.cu - Gradient norm and optimizers on a GPU --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch works on up to 32 tensors: its second dimension is the tensor. All
// kernels here are memory-bound.
//
//===----------------------------------------------------------------------===//

#include "runtime/optimizer/cuda.h"

#include "runtime/base/cuda/thread.h"

#include <algorithm>

namespace rondo::runtime::cuda {

namespace {

constexpr unsigned threads = 256;
constexpr int64_t tensorsAtOnce = 32;
/// Blocks that share the sum of one tensor.
constexpr int64_t sumBlocks = 256;
constexpr int64_t updateBlocks = 2048;
static_assert(sumSquaresScratchBytes == tensorsAtOnce * sumBlocks * 8);

/// Passed as a kernel argument.
template <typename T> struct Table {
  T entries[tensorsAtOnce];
};

/// Calls run(table, entries, most elements of an entry) for all tensors.
template <typename T, typename Run>
void inTables(const std::vector<T> &tensors, Run run) {
  for (size_t first = 0; first < tensors.size(); first += tensorsAtOnce) {
    Table<T> table{};
    const size_t last = std::min(tensors.size(), first + tensorsAtOnce);
    int64_t most = 0;
    for (size_t i = first; i < last; ++i) {
      table.entries[i - first] = tensors[i];
      most = std::max(most, tensors[i].count);
    }
    run(table, static_cast<unsigned>(last - first), most);
  }
}

/// Blocks for `count` elements, of which each thread takes four at a time.
unsigned blocksOf(int64_t count, int64_t limit) {
  return static_cast<unsigned>(std::max<int64_t>(
      1, std::min(limit, (count + 4 * threads - 1) / (4 * threads))));
}

/// The distance between a thread's elements, and its first element.
__device__ __forceinline__ int64_t stride() {
  return int64_t(gridDim.x) * blockDim.x;
}
__device__ __forceinline__ int64_t firstElement() {
  return int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// Calls run(width, i) for all elements [i, i + width), four at a time while
/// that many are left. Tensors start at multiples of 64 bytes.
template <typename Run>
__device__ __forceinline__ void forPacks(int64_t count, Run run) {
  for (int64_t i = 4 * firstElement(); i < count; i += 4 * stride()) {
    if (i + 4 <= count)
      run(std::integral_constant<int, 4>(), i);
    else
      for (int64_t j = i; j < count; ++j)
        run(std::integral_constant<int, 1>(), j);
  }
}

__global__ void copiesKernel(float *tensor, float *copy, int64_t count) {
  forPacks(count, [=](auto width, int64_t at) {
    float a[width.value], b[width.value];
    load(a, tensor + at);
    load(b, copy + at);
#pragma unroll
    for (int i = 0; i < width.value; ++i)
      a[i] += b[i];
    store(tensor + at, a);
    store(copy + at, a);
  });
}

__global__ void __launch_bounds__(threads)
    squaresKernel(Table<SquaredTensor> table, double *partials) {
  const SquaredTensor &tensor = table.entries[blockIdx.y];
  // There are few blocks, so each thread has several packs in flight, and a
  // chain of additions for each element of one.
  constexpr int atOnce = 8;
  const int64_t step = 4 * stride();
  double sums[4] = {};
  const auto add = [&](const float (&value)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums[i] += double(value[i]) * double(value[i]);
  };
  int64_t at = 4 * firstElement();
  for (; at + (atOnce - 1) * step + 4 <= tensor.count; at += atOnce * step) {
    float value[atOnce][4];
#pragma unroll
    for (int a = 0; a < atOnce; ++a)
      load(value[a], tensor.values + at + a * step);
#pragma unroll
    for (int a = 0; a < atOnce; ++a)
      add(value[a]);
  }
  for (; at < tensor.count; at += step) {
    float value[4] = {};
    if (at + 4 <= tensor.count)
      load(value, tensor.values + at);
    else
      for (int i = 0; i < 3; ++i)
        value[i] = at + i < tensor.count ? tensor.values[at + i] : 0;
    add(value);
  }
  double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  sum = blockSum(sum, reinterpret_cast<double *>(sharedMemory()));
  if (threadIdx.x == 0)
    partials[blockIdx.y * sumBlocks + blockIdx.x] = sum;
}

__global__ void __launch_bounds__(threads)
    addPartialsKernel(Table<SquaredTensor> table, const double *partials,
                      unsigned blocks) {
  static_assert(sumBlocks == threads);
  const double mine =
      threadIdx.x < blocks ? partials[blockIdx.y * sumBlocks + threadIdx.x] : 0;
  const double sum = blockSum(mine, reinterpret_cast<double *>(sharedMemory()));
  if (threadIdx.x == 0)
    *table.entries[blockIdx.y].sum = sum;
}

struct Headers {
  ControlHeader *entries[tensorsAtOnce];
  int count;
};

/// Like clipFactor(), of a finite norm.
__device__ __forceinline__ float factorOf(double norm, double maxNorm) {
  return maxNorm > 0 && norm > maxNorm ? float(maxNorm / norm) : 1.0f;
}

__global__ void normKernel(const double *sum, double maxNorm, Headers headers) {
  const double norm = sqrt(*sum);
  // Every lane has read the sum before a header that holds it is written.
  __syncwarp();
  const bool isFinite = norm - norm == 0;
  if (static_cast<int>(threadIdx.x) >= headers.count)
    return;
  ControlHeader &header = *headers.entries[threadIdx.x];
  header.norm = norm;
  header.isFinite = isFinite;
  header.step.clipFactor = isFinite ? factorOf(norm, maxNorm) : 0;
}

__global__ void clipKernel(const double *sum, double maxNorm, Headers headers) {
  const double norm = sqrt(*sum);
  if (!(norm - norm == 0) || static_cast<int>(threadIdx.x) >= headers.count)
    return;
  ControlHeader &header = *headers.entries[threadIdx.x];
  if (header.isFinite)
    header.step.clipFactor = factorOf(norm, maxNorm);
}

/// The mean of changes after a step from `before` to `after`; as in rule.cpp.
template <int width>
__device__ __forceinline__ void
keepChange(const OptimizedTensor &tensor, int64_t at,
           const float (&before)[width], const float (&after)[width]) {
  float change[width];
  load(change, tensor.changes + at);
#pragma unroll
  for (int i = 0; i < width; ++i)
    change[i] = tensor.changeDecay * change[i] +
                (1 - tensor.changeDecay) * (after[i] - before[i]);
  store(tensor.changes + at, change);
}

/// A step that is skipped.
__device__ __forceinline__ void skipUpdate(const OptimizedTensor &tensor) {
  if (!tensor.changes)
    return;
  forPacks(tensor.count, [&](auto width, int64_t at) {
    float change[width.value];
    load(change, tensor.changes + at);
#pragma unroll
    for (int i = 0; i < width.value; ++i)
      change[i] *= tensor.changeDecay;
    store(tensor.changes + at, change);
  });
}

/// The factors of one step, the same for every element; as in rule.cpp.
struct Factors {
  float clip, rate, inverseRoot, shrink;
};

template <int width>
__device__ __forceinline__ void
update(const AdamWConfig &config, const Factors &f,
       const OptimizedTensor &tensor, int64_t at) {
  float weight[width], gradient[width], first[width], second[width];
  float before[width];
  load(weight, tensor.weights + at);
  load(gradient, tensor.gradients + at);
  load(first, tensor.moment1 + at);
  load(second, tensor.moment2 + at);
#pragma unroll
  for (int i = 0; i < width; ++i) {
    before[i] = weight[i];
    const float clipped = gradient[i] * f.clip;
    first[i] = config.beta1 * first[i] + (1 - config.beta1) * clipped;
    second[i] =
        config.beta2 * second[i] + (1 - config.beta2) * clipped * clipped;
    const float root = sqrtf(second[i]) * f.inverseRoot + config.epsilon;
    weight[i] = weight[i] * f.shrink - f.rate * (first[i] / root);
  }
  store(tensor.moment1 + at, first);
  store(tensor.moment2 + at, second);
  store(tensor.weights + at, weight);
  if (tensor.copy)
    store(tensor.copy + at, weight);
  if (tensor.changes)
    keepChange(tensor, at, before, weight);
}

__global__ void __launch_bounds__(threads)
    adamwKernel(AdamWConfig config, const ControlHeader *header,
                Table<OptimizedTensor> table) {
  const OptimizedTensor &tensor = table.entries[blockIdx.y];
  // For a small tensor, most blocks leave before they read anything.
  if (int64_t(blockIdx.x) * blockDim.x * 4 >= tensor.count)
    return;
  if (!header->isFinite)
    return skipUpdate(tensor);
  auto &f = *reinterpret_cast<Factors *>(sharedMemory());
  // Powers in fp64 are slow: one thread computes them for all.
  if (threadIdx.x == 0) {
    const double step = double(header->step.step);
    const double rate = header->step.learningRate;
    f.clip = header->step.clipFactor;
    f.rate = float(rate / (1 - pow(double(config.beta1), step)));
    f.inverseRoot = float(1 / sqrt(1 - pow(double(config.beta2), step)));
    f.shrink = tensor.decay ? float(1 - rate * config.weightDecay) : 1.0f;
  }
  __syncthreads();
  const Factors factors = f;
  forPacks(tensor.count, [&](auto width, int64_t at) {
    update<width.value>(config, factors, tensor, at);
  });
}

/// As in sgd.cpp.
template <int width>
__device__ __forceinline__ void
descend(float momentum, float clip, float rate, float shrink,
        const OptimizedTensor &tensor, int64_t at) {
  float weight[width], gradient[width], moment[width], before[width];
  load(weight, tensor.weights + at);
  load(gradient, tensor.gradients + at);
  if (tensor.moment1)
    load(moment, tensor.moment1 + at);
#pragma unroll
  for (int i = 0; i < width; ++i) {
    before[i] = weight[i];
    moment[i] =
        (tensor.moment1 ? momentum * moment[i] : 0) + gradient[i] * clip;
    weight[i] = weight[i] * shrink - rate * moment[i];
  }
  if (tensor.moment1)
    store(tensor.moment1 + at, moment);
  store(tensor.weights + at, weight);
  if (tensor.copy)
    store(tensor.copy + at, weight);
  if (tensor.changes)
    keepChange(tensor, at, before, weight);
}

__global__ void __launch_bounds__(threads)
    sgdKernel(SgdConfig config, const ControlHeader *header,
              Table<OptimizedTensor> table) {
  const OptimizedTensor &tensor = table.entries[blockIdx.y];
  if (int64_t(blockIdx.x) * blockDim.x * 4 >= tensor.count)
    return;
  if (!header->isFinite)
    return skipUpdate(tensor);
  const float rate = header->step.learningRate, clip = header->step.clipFactor;
  const float shrink =
      tensor.decay ? float(1 - double(rate) * config.weightDecay) : 1.0f;
  forPacks(tensor.count, [&](auto width, int64_t at) {
    descend<width.value>(config.momentum, clip, rate, shrink, tensor, at);
  });
}

__global__ void keepChangeKernel(int64_t count, float decay,
                                 const float *before, const float *after,
                                 float *changes) {
  OptimizedTensor tensor{};
  tensor.changes = changes;
  tensor.changeDecay = decay;
  forPacks(count, [&](auto width, int64_t at) {
    float old[width.value], now[width.value];
    load(old, before + at);
    load(now, after + at);
    keepChange(tensor, at, old, now);
  });
}

__global__ void moveBackKernel(int64_t count, float steps, const float *weights,
                               const float *changes, float *moved) {
  forPacks(count, [=](auto width, int64_t at) {
    float weight[width.value], change[width.value];
    load(weight, weights + at);
    load(change, changes + at);
#pragma unroll
    for (int i = 0; i < width.value; ++i)
      weight[i] -= steps * change[i];
    store(moved + at, weight);
  });
}

__global__ void toBf16Kernel(const float *weights, __nv_bfloat16 *copy,
                             int64_t count) {
  forPacks(count, [=](auto width, int64_t at) {
    float value[width.value];
    load(value, weights + at);
    store(copy + at, value);
  });
}

} // namespace

void addCopies(const Stream &stream, float *tensor, float *copy,
               int64_t count) {
  launch(stream, copiesKernel, dim3(blocksOf(count, updateBlocks)),
         dim3(threads), 0, tensor, copy, count);
}

void sumSquares(const Stream &stream, const std::vector<SquaredTensor> &tensors,
                void *scratch) {
  auto *partials = static_cast<double *>(scratch);
  inTables(tensors, [&](const Table<SquaredTensor> &table, unsigned entries,
                        int64_t most) {
    const unsigned blocks = blocksOf(most, sumBlocks);
    launch(stream, squaresKernel, dim3(blocks, entries), dim3(threads),
           threads / 32 * sizeof(double), table, partials);
    launch(stream, addPartialsKernel, dim3(1, entries), dim3(threads),
           threads / 32 * sizeof(double), table,
           static_cast<const double *>(partials), blocks);
  });
}

/// Calls run(headers) for as many at once as a launch takes.
template <typename Run>
static void inHeaders(const std::vector<ControlHeader *> &headers, Run run) {
  for (size_t first = 0; first < headers.size(); first += tensorsAtOnce) {
    Headers some{};
    while (some.count < tensorsAtOnce && first + some.count < headers.size()) {
      some.entries[some.count] = headers[first + some.count];
      ++some.count;
    }
    run(some);
  }
}

void finishNorm(const Stream &stream, const double *sum, double maxNorm,
                const std::vector<ControlHeader *> &headers) {
  // The header that holds the sum comes last, because writing it overwrites the
  // sum.
  std::vector<ControlHeader *> ordered = headers;
  std::stable_partition(
      ordered.begin(), ordered.end(), [&](const ControlHeader *header) {
        auto *begin = reinterpret_cast<const char *>(header);
        auto *place = reinterpret_cast<const char *>(sum);
        return place < begin || place >= begin + sizeof *header;
      });
  inHeaders(ordered, [&](const Headers &some) {
    launch(stream, normKernel, dim3(1), dim3(32), 0, sum, maxNorm, some);
  });
}

void clipBy(const Stream &stream, const double *sum, double maxNorm,
            const std::vector<ControlHeader *> &headers) {
  inHeaders(headers, [&](const Headers &some) {
    launch(stream, clipKernel, dim3(1), dim3(32), 0, sum, maxNorm, some);
  });
}

void adamw(const Stream &stream, const AdamWConfig &config,
           const ControlHeader *header,
           const std::vector<OptimizedTensor> &tensors) {
  inTables(tensors, [&](const Table<OptimizedTensor> &table, unsigned entries,
                        int64_t most) {
    launch(stream, adamwKernel, dim3(blocksOf(most, updateBlocks), entries),
           dim3(threads), sizeof(Factors), config, header, table);
  });
}

void sgd(const Stream &stream, const SgdConfig &config,
         const ControlHeader *header,
         const std::vector<OptimizedTensor> &tensors) {
  inTables(tensors, [&](const Table<OptimizedTensor> &table, unsigned entries,
                        int64_t most) {
    launch(stream, sgdKernel, dim3(blocksOf(most, updateBlocks), entries),
           dim3(threads), 0, config, header, table);
  });
}

void keepChange(const Stream &stream, int64_t count, float decay,
                const float *before, const float *after, float *changes) {
  launch(stream, keepChangeKernel, dim3(blocksOf(count, updateBlocks)),
         dim3(threads), 0, count, decay, before, after, changes);
}

void moveBack(const Stream &stream, int64_t count, float steps,
              const float *weights, const float *changes, float *moved) {
  launch(stream, moveBackKernel, dim3(blocksOf(count, updateBlocks)),
         dim3(threads), 0, count, steps, weights, changes, moved);
}

void toBf16(const Stream &stream, const float *weights, __nv_bfloat16 *copy,
            int64_t count) {
  launch(stream, toBf16Kernel, dim3(blocksOf(count, updateBlocks)),
         dim3(threads), 0, weights, copy, count);
}

} // namespace rondo::runtime::cuda
