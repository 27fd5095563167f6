//===- DeviceTest.h - Buffers and comparisons on a device -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tests of the CUDA kernels. They run against test/cuda_emulation on every
// machine, and the same sources against the toolkit, where they are skipped
// without a device.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_UNIT_CUDA_DEVICETEST_H
#define RONDO_TEST_UNIT_CUDA_DEVICETEST_H

#include "../bodies/Model.h"
#include "runtime/base/cuda/stream.h"
#include "runtime/bodies/cuda/layers.h"
#include "runtime/model/cuda_layouts.h"

#include <cmath>
#include <cuda_bf16.h>
#include <gtest/gtest.h>
#include <vector>

namespace rondo::runtime::cuda {

template <typename T> T rounded(double value) {
  if constexpr (sizeof(T) == 2)
    return __float2bfloat16(static_cast<float>(value));
  else
    return static_cast<T>(value);
}
inline double number(float value) { return value; }
inline double number(Bf16 value) { return __bfloat162float(value); }

/// Largest difference of a result to the double-precision one, relative to the
/// tensor's largest element: fp32 carries 2^-24 through sums of a few hundred
/// terms, bf16 rounds inputs of products to 2^-9.
template <typename T> constexpr double tolerance() {
  return sizeof(T) == 2 ? 1e-2 : 1e-5;
}

/// Random numbers in [-1, 1) that T represents exactly.
template <typename T> std::vector<T> randoms(uint64_t stream, int64_t count) {
  std::vector<T> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = rounded<T>(uniform(stream, i));
  return values;
}
template <typename T>
std::vector<double> doubles(const std::vector<T> &values) {
  std::vector<double> result(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    result[i] = number(values[i]);
  return result;
}

/// Copies, and waits until other streams see it: these calls run in the default
/// stream, and may return before they are done.
inline void writeDevice(void *device, const void *host, size_t bytes) {
  RONDO_CUDA(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
  RONDO_CUDA(cudaStreamSynchronize(nullptr));
}

/// Device memory full of NaNs, followed by a guard that must not change. It is
/// aligned as an arena's buffer may be: to bufferAlignment and no more.
template <typename T> class DeviceArray {
public:
  explicit DeviceArray(int64_t count) : count(count) {
    RONDO_CUDA(cudaMalloc(reinterpret_cast<void **>(&region),
                          bufferAlignment + bytes() + 256));
    memory = reinterpret_cast<T *>(region + bufferAlignment);
    RONDO_CUDA(cudaMemset(guardPlace(), 0x5a, 256));
    poison();
  }
  explicit DeviceArray(const std::vector<T> &values)
      : DeviceArray(static_cast<int64_t>(values.size())) {
    write(values);
  }
  ~DeviceArray() {
    std::vector<unsigned char> guard(256);
    cudaMemcpy(guard.data(), guardPlace(), 256, cudaMemcpyDeviceToHost);
    EXPECT_EQ(guard, std::vector<unsigned char>(256, 0x5a))
        << "written past a buffer";
    cudaFree(region);
  }
  DeviceArray(const DeviceArray &) = delete;

  void poison() { fill(0xff); }
  void clear() { fill(0); }
  void write(const std::vector<T> &values) {
    writeDevice(memory, values.data(), values.size() * sizeof(T));
  }
  std::vector<T> read() const {
    std::vector<T> values(count);
    RONDO_CUDA(
        cudaMemcpy(values.data(), memory, bytes(), cudaMemcpyDeviceToHost));
    return values;
  }
  T *get() const { return memory; }
  size_t bytes() const { return count * sizeof(T); }

private:
  void fill(int byte) {
    RONDO_CUDA(cudaMemset(memory, byte, bytes()));
    RONDO_CUDA(cudaStreamSynchronize(nullptr));
  }
  char *guardPlace() const {
    return reinterpret_cast<char *>(memory) + bytes();
  }
  int64_t count;
  char *region = nullptr;
  T *memory = nullptr;
};

/// For products of single tests.
class Workspace {
public:
  GemmWorkspace get() const { return workspaceIn(memory.get(), bytes); }

private:
  static constexpr int64_t bytes = 1 << 16;
  DeviceArray<char> memory{gemmRegionBytes(bytes)};
};

/// Why tests cannot run here; empty if they can.
inline std::string whyNoDevice() {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0)
    return "";
  cudaGetLastError();
  return std::string("no CUDA device: ") +
         (error == cudaSuccess ? "there are 0" : cudaGetErrorString(error));
}

class DeviceTest : public testing::Test {
protected:
  void SetUp() override {
    if (std::string why = whyNoDevice(); !why.empty())
      GTEST_SKIP() << why;
    RONDO_CUDA(
        cudaStreamCreateWithFlags(&stream.handle, cudaStreamNonBlocking));
    gemms = std::make_unique<Gemms>();
    stream.gemms = gemms.get();
  }
  void TearDown() override {
    if (stream.handle)
      cudaStreamDestroy(stream.handle);
  }
  void wait() { RONDO_CUDA(cudaStreamSynchronize(stream.handle)); }

  Stream stream;
  std::unique_ptr<Gemms> gemms;
};

/// Each element is within `part` of the largest of `expected`.
template <typename T>
void expectClose(const std::vector<T> &actual,
                 const std::vector<double> &expected, double part,
                 const std::string &what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double most = 0, error = 0;
  size_t worst = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    most = std::max(most, std::abs(expected[i]));
    double apart = std::abs(number(actual[i]) - expected[i]);
    if (!(apart <= error)) {
      error = apart;
      worst = i;
    }
    if (!std::isfinite(apart))
      break;
  }
  EXPECT_LE(error, part * most)
      << what << ": element " << worst << " is " << number(actual[worst])
      << ", not " << expected[worst] << "; the largest is " << most;
}

/// The same bits. An empty vector has a null address, which memcmp() must not
/// get.
template <typename T>
bool same(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() &&
         (a.empty() ||
          std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

} // namespace rondo::runtime::cuda

#endif // RONDO_TEST_UNIT_CUDA_DEVICETEST_H
