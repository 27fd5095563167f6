//===- kernel_table.h - Times and their floors ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_BENCH_GPU_KERNEL_TABLE_H
#define RONDO_BENCH_GPU_KERNEL_TABLE_H

#include "runtime/bodies/cuda/layers.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

namespace rondo::runtime::cuda {

/// Device memory that is freed at the end of the process.
template <typename T> T *allocate(int64_t count) {
  void *memory = nullptr;
  RONDO_CUDA(cudaMalloc(&memory, count * sizeof(T)));
  return static_cast<T *>(memory);
}

/// Numbers in [-scale, scale), from a generator of our own: zeros would take
/// less power, and so less time.
template <typename T> T *randoms(int64_t count, float scale) {
  // A part is repeated, so that the host makes few.
  const int64_t part = std::min<int64_t>(count, 1 << 20);
  std::vector<T> values(part);
  uint64_t state = 1 + count;
  for (T &value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const float number =
        static_cast<float>(state >> 40) / float(1 << 23) - 1.0f;
    if constexpr (sizeof(T) == 2)
      value = __float2bfloat16(scale * number);
    else
      value = scale * number;
  }
  T *memory = allocate<T>(count);
  for (int64_t first = 0; first < count; first += part)
    RONDO_CUDA(cudaMemcpy(memory + first, values.data(),
                          std::min(part, count - first) * sizeof(T),
                          cudaMemcpyHostToDevice));
  return memory;
}

/// Times work on one stream.
class Clock {
public:
  explicit Clock(int64_t repeats)
      : repeats(repeats), flushed(allocate<char>(flushBytes)) {
    RONDO_CUDA(
        cudaStreamCreateWithFlags(&stream.handle, cudaStreamNonBlocking));
    stream.gemms = &gemms;
    RONDO_CUDA(cudaEventCreate(&begin));
    RONDO_CUDA(cudaEventCreate(&end));
  }

  /// Median of the repeats, in microseconds, after one that is not counted.
  double microseconds(const std::function<void()> &run) {
    std::vector<float> times;
    for (int64_t i = 0; i <= repeats; ++i) {
      RONDO_CUDA(cudaMemsetAsync(flushed, static_cast<int>(i), flushBytes,
                                 stream.handle));
      RONDO_CUDA(cudaEventRecord(begin, stream.handle));
      run();
      RONDO_CUDA(cudaEventRecord(end, stream.handle));
      RONDO_CUDA(cudaStreamSynchronize(stream.handle));
      float milliseconds = 0;
      RONDO_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
      if (i > 0)
        times.push_back(milliseconds);
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2,
                     times.end());
    return 1e3 * times[times.size() / 2];
  }

  Gemms gemms;
  Stream stream;

private:
  static constexpr size_t flushBytes = size_t(256) << 20;
  int64_t repeats;
  char *flushed;
  cudaEvent_t begin = nullptr, end = nullptr;
};

/// The table, row by row.
class Table {
public:
  /// Measures the two rates of the device.
  explicit Table(Clock &clock) : clock(clock) {
    const int64_t copied = int64_t(1) << 30;
    char *from = allocate<char>(copied), *to = allocate<char>(copied);
    bytesPerUs = 2.0 * copied / clock.microseconds([&] {
      RONDO_CUDA(cudaMemcpyAsync(to, from, copied, cudaMemcpyDeviceToDevice,
                                 clock.stream.handle));
    });
    RONDO_CUDA(cudaFree(from));
    RONDO_CUDA(cudaFree(to));
    const int64_t n = 8192;
    Bf16 *a = randoms<Bf16>(n * n, 1), *b = randoms<Bf16>(n * n, 1),
         *d = allocate<Bf16>(n * n);
    const int64_t workspaceBytes = int64_t(32) << 20;
    GemmWorkspace workspace = workspaceIn(
        allocate<char>(gemmRegionBytes(workspaceBytes)), workspaceBytes);
    Product product{};
    product.rows = product.columns = product.inner = n;
    product.type = product.resultType = DType::Bf16;
    product.a = {a, n};
    product.b = {b, n};
    product.d = d;
    product.stride = n;
    flopsPerUs = 2.0 * n * n * n / clock.microseconds([&] {
      clock.gemms.multiply(clock.stream, product, workspace);
    });
    for (Bf16 *matrix : {a, b, d})
      RONDO_CUDA(cudaFree(matrix));
    std::printf("copy: %.0f GB/s read and written; product 8192 x 8192 x 8192: "
                "%.0f TFLOP/s\n",
                bytesPerUs / 1e3, flopsPerUs / 1e6);
    std::printf("%-28s %10s %10s %7s %7s %9s\n", "kernel or product",
                "floor us", "time us", "ratio", "count", "total us");
  }

  /// `count`: how often in an iteration; 0: another row does the same.
  void row(const char *name, double bytes, double flops, int64_t count,
           const std::function<void()> &run) {
    const double floor = std::max(bytes / bytesPerUs, flops / flopsPerUs);
    const double time = clock.microseconds(run);
    std::printf("%-28s %10.1f %10.1f %7.2f %7lld %9.0f\n", name, floor, time,
                time / floor, static_cast<long long>(count), count * time);
    std::fflush(stdout);
    floors += count * floor;
    times += count * time;
  }
  void total() const {
    std::printf("%-28s %10.0f %10.0f %7.2f\n", "all of them", floors, times,
                times / floors);
  }

private:
  Clock &clock;
  double bytesPerUs = 0, flopsPerUs = 0;
  double floors = 0, times = 0;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_BENCH_GPU_KERNEL_TABLE_H
