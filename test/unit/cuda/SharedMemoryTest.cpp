// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts launches that ask the device for more shared memory.

#include "DeviceTest.h"

#include "test/cuda_emulation/emulation.h"

#include <thread>

namespace rondo::runtime::cuda {
namespace {

void large(int *) {}

TEST(SharedMemory, IsAskedForOnceAKernelAndDevice) {
  emulation::setDevices(2);
  auto launches = [](int device, size_t bytes) {
    RONDO_CUDA(cudaSetDevice(device));
    Stream stream;
    RONDO_CUDA(
        cudaStreamCreateWithFlags(&stream.handle, cudaStreamNonBlocking));
    emulation::sharedSettings();
    // Fails if the device does not allow it.
    launch(stream, large, dim3(1), dim3(32), bytes, nullptr);
    RONDO_CUDA(cudaStreamSynchronize(stream.handle));
    RONDO_CUDA(cudaStreamDestroy(stream.handle));
    return emulation::sharedSettings();
  };
  EXPECT_EQ(launches(0, 48 << 10), 0);
  EXPECT_EQ(launches(0, 64 << 10), 1);
  EXPECT_EQ(launches(0, 64 << 10), 0);
  EXPECT_EQ(launches(1, 64 << 10), 1);
  EXPECT_EQ(launches(0, 96 << 10), 1);
  EXPECT_EQ(launches(0, 64 << 10), 0);
  // Another thread neither asks again nor takes anything back.
  std::thread([&] { EXPECT_EQ(launches(0, 80 << 10), 0); }).join();
  EXPECT_EQ(launches(0, 96 << 10), 0);
  RONDO_CUDA(cudaSetDevice(0));
  emulation::setDevices(1);
}

} // namespace
} // namespace rondo::runtime::cuda
