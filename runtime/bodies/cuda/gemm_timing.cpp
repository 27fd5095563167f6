//===- gemm_timing.cpp - Which algorithm is the fastest -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/gemm_timing.h"

#include "runtime/base/cuda/stream.h"
#include "runtime/model/cuda_layouts.h"

#include <algorithm>
#include <cmath>
#include <memory>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

/// Odd, for the median.
static constexpr size_t repeats = 5;
/// Products between two events: their launches overlap.
static constexpr int launchesOfRepeat = 4;

static int64_t rounded(int64_t bytes) {
  return (bytes + gemmAlignment - 1) / gemmAlignment * gemmAlignment;
}

std::optional<std::vector<double>>
rondo::runtime::cuda::timeCandidates(const Product &product,
                                     int64_t workspaceBytes, size_t count,
                                     const RunCandidate &run) {
  const int64_t element = product.resultType == DType::Bf16 ? 2 : 4;
  const int64_t ofResult = rounded(product.rows * product.stride * element);
  const bool writesAux = product.epilogue == Epilogue::BiasGelu;
  const int64_t ofAux =
      writesAux ? rounded(product.rows * product.columns * element) : 0;
  const auto bytes =
      static_cast<size_t>(ofResult + ofAux + gemmRegionBytes(workspaceBytes));
  void *memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, bytes);
  if (error == cudaErrorMemoryAllocation) {
    // The next call would report it again.
    cudaGetLastError();
    return std::nullopt;
  }
  RONDO_CUDA(error);
  const std::unique_ptr<void, cudaError_t (*)(void *)> owner(memory, cudaFree);

  const OwnedStream owned(OwnedStream::Priority::Usual);
  Stream stream;
  stream.handle = owned.get();
  char *const scratch = static_cast<char *>(memory);
  Product copy = product;
  copy.d = scratch;
  if (product.c == product.d)
    copy.c = copy.d;
  if (writesAux)
    copy.aux = scratch + ofResult;
  const GemmWorkspace workspace =
      workspaceIn(scratch + ofResult + ofAux, workspaceBytes);
  RONDO_CUDA(cudaMemsetAsync(memory, 0, bytes, stream.handle));
  // The first launch may load the kernel.
  std::vector<bool> isRefused;
  for (size_t c = 0; c < count; ++c)
    isRefused.push_back(!run(c, stream, copy, workspace));
  std::vector<Event> marks;
  marks.emplace_back(/*keepsTime=*/true);
  marks.back().record(stream.handle);
  for (size_t r = 0; r < repeats; ++r)
    for (size_t c = 0; c < count; ++c) {
      for (int launch = 0; launch < launchesOfRepeat && !isRefused[c]; ++launch)
        isRefused[c] = !run(c, stream, copy, workspace);
      marks.emplace_back(/*keepsTime=*/true);
      marks.back().record(stream.handle);
    }
  RONDO_CUDA(cudaStreamSynchronize(stream.handle));

  std::vector<double> medians;
  for (size_t c = 0; c < count; ++c) {
    if (isRefused[c]) {
      medians.push_back(INFINITY);
      continue;
    }
    std::vector<float> times;
    for (size_t r = 0; r < repeats; ++r) {
      const size_t mark = r * count + c;
      float ms = 0;
      RONDO_CUDA(
          cudaEventElapsedTime(&ms, marks[mark].get(), marks[mark + 1].get()));
      times.push_back(ms);
    }
    std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
    medians.push_back(times[repeats / 2] * 1e3 / launchesOfRepeat);
  }
  return medians;
}

size_t rondo::runtime::cuda::fastestOf(const std::vector<double> &us) {
  constexpr double leastGain = 0.02;
  const auto fastest =
      static_cast<size_t>(std::min_element(us.begin(), us.end()) - us.begin());
  return us[fastest] < (1 - leastGain) * us[0] ? fastest : 0;
}
