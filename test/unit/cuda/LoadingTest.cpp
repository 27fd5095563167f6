// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The emulated cuBLASLt loads a kernel when a product first needs it, which
// must not happen while a kernel of NCCL waits; a layer that was prepared needs
// none.

#include "DeviceTest.h"

#include "runtime/device/cuda/device.h"
#include "runtime/transport/cuda/nccl_transport.h"
#include "test/cuda_emulation/emulation.h"

#include <cstdlib>

namespace rondo::runtime::cuda {
namespace {

class Loading : public testing::Test {
protected:
  void SetUp() override {
    // A fork would lack the threads of the emulated GPUs, and keep their locks.
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    // The program's own kernels are loaded at start.
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    emulation::setDevices(2);
    const std::string id = makeCommunicatorId();
    RONDO_NCCL(ncclGroupStart());
    for (int rank = 0; rank < 2; ++rank) {
      RONDO_CUDA(cudaSetDevice(rank));
      streams.emplace_back(OwnedStream::Priority::Usual);
      ends.push_back(
          std::make_unique<Communicator>(id, 2, rank, 1, "the channel"));
    }
    RONDO_NCCL(ncclGroupEnd());
    settleBoth();
    // The first message connects, for which both must be there.
    RONDO_NCCL(ncclGroupStart());
    enqueueReceive();
    enqueueSend();
    RONDO_NCCL(ncclGroupEnd());
    settleBoth();
    awaitBoth();
  }
  void TearDown() override {
    for (const auto &end : ends)
      end->part();
    ends.clear();
    RONDO_CUDA(cudaSetDevice(0));
    emulation::setDevices(1);
    unsetenv("CUDA_MODULE_LOADING");
  }
  void settle(int rank) {
    RONDO_CUDA(cudaSetDevice(rank));
    while (!ends[rank]->isSettled())
      ;
  }
  void settleBoth() {
    settle(1);
    settle(0);
  }
  void awaitBoth() {
    for (int rank : {1, 0}) {
      RONDO_CUDA(cudaSetDevice(rank));
      RONDO_CUDA(cudaStreamSynchronize(streams[rank].get()));
    }
  }
  void enqueueReceive() {
    RONDO_CUDA(cudaSetDevice(0));
    RONDO_NCCL(
        ncclRecv(byte.get(), 1, ncclInt8, 1, ends[0]->get(), streams[0].get()));
  }
  void enqueueSend() {
    RONDO_CUDA(cudaSetDevice(1));
    RONDO_NCCL(ncclSend(other.get(), 1, ncclInt8, 0, ends[1]->get(),
                        streams[1].get()));
  }
  /// GPU 0 waits for a message.
  void receive() {
    emulation::maxResident();
    enqueueReceive();
    settle(0);
    while (emulation::maxResident() == 0)
      (void)cudaStreamQuery(streams[0].get());
  }
  void send() {
    enqueueSend();
    settleBoth();
    awaitBoth();
  }

  DeviceArray<char> byte{1}, other{1};
  std::vector<OwnedStream> streams;
  std::vector<std::unique_ptr<Communicator>> ends;
};

/// Every test has a layer of its own size: what one loads stays.
LayerDesc blockOf(int32_t sequence) {
  LayerDesc layer{};
  layer.kind = LayerKind::GptBlock;
  layer.dtype = DType::Bf16;
  layer.target = Target::Cuda;
  layer.batch = 1;
  layer.sequence = sequence;
  layer.hidden = 32;
  layer.heads = 2;
  layer.ffn = 64;
  return layer;
}

/// Products made so far, by any of a few algorithms.
int64_t products() {
  constexpr size_t maxAlgorithms = 8;
  int64_t sum = 0;
  for (size_t number = 0; number < maxAlgorithms; ++number)
    sum += emulation::productsWith(number);
  return sum;
}

TEST_F(Loading, OfAProductWhileAMessageIsAwaitedEndsTheProgram) {
  const LayerDesc layer = blockOf(24);
  CudaDevice device(Gpu::get(0), 0, nullptr, /*loadsEarly=*/true);
  const std::unique_ptr<Arena> arena = device.makeArena(1 << 20);
  receive();
  EXPECT_DEATH(device.prepare(layer, nullptr, *arena),
               "a kernel is loaded while one of NCCL waits on the device");
  send();
}

TEST_F(Loading, PreparedLayersLoadNothing) {
  const LayerDesc layer = blockOf(40);
  CudaDevice device(Gpu::get(0), 0, nullptr, /*loadsEarly=*/true);
  const std::unique_ptr<Arena> arena = device.makeArena(1 << 20);
  EXPECT_TRUE(device.prepare(layer, nullptr, *arena));
  receive();
  EXPECT_TRUE(device.prepare(layer, nullptr, *arena));
  send();
}

TEST_F(Loading, OnOneGpuNothingIsPrepared) {
  CudaDevice device(Gpu::get(0), 0);
  const std::unique_ptr<Arena> arena = device.makeArena(1 << 20);
  const int64_t before = products();
  EXPECT_FALSE(device.prepare(blockOf(56), nullptr, *arena));
  EXPECT_EQ(products(), before);
}

// A layer that has no room in the arena gets memory for the time.
TEST_F(Loading, SmallArenasAreLeftAlone) {
  CudaDevice device(Gpu::get(0), 0, nullptr, /*loadsEarly=*/true);
  const std::unique_ptr<Arena> arena = device.makeArena(64);
  const int64_t before = products();
  EXPECT_FALSE(device.prepare(blockOf(72), nullptr, *arena));
  EXPECT_GT(products(), before);
}

} // namespace
} // namespace rondo::runtime::cuda
