//===- device.h - A rank on a GPU -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_CUDA_DEVICE_H
#define RONDO_RUNTIME_DEVICE_CUDA_DEVICE_H

#include "runtime/base/clock.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/kernels.h"
#include "runtime/device/device.h"

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace rondo::runtime::cuda {

class GemmChoices;

/// One rank's compute stream, on a GPU that other ranks may share.
class CudaDevice : public Device {
public:
  /// `choices` may be null (Gemms). `loadsEarly`: prepare() runs each layer, so
  /// that no kernel of a library is loaded later.
  CudaDevice(std::shared_ptr<Gpu> gpu, int32_t rank,
             const std::shared_ptr<GemmChoices> &choices = nullptr,
             bool loadsEarly = false, Attention attention = Attention::Own);
  ~CudaDevice() override;

  std::unique_ptr<Arena> makeArena(int64_t bytes) override;
  std::unique_ptr<Arena> makeHostArena(int64_t bytes) override;
  bool prepare(const LayerDesc &layer, void *state, Arena &arena) override;
  const LayerBody &body(const LayerDesc &layer) const override;
  void *stream() const override;
  bool enqueues() const override { return true; }
  std::shared_ptr<char[]> makeHostMemory(int64_t bytes) override;
  bool copyAtOnce(const HostCopies &copies) override;
  void copy(void *to, const void *from, int64_t bytes) override;
  void clear(void *to, int64_t bytes) override;
  void toBf16(void *copy, const float *weights, int64_t count) override;
  void addTo(void *sum, const void *part, int64_t bytes, DType dtype) override;
  void addCopies(const StageTensors &stage) override;
  void sumSquares(const StageTensors &stage) override;
  void sumAll(double *sum, const double *values, int64_t count) override;
  void finishNorm(const double *sum, double maxNorm,
                  const std::vector<ControlHeader *> &headers) override;
  void clipBy(const double *sum, double maxNorm,
              const std::vector<ControlHeader *> &headers) override;
  void step(const StageTensors &stage, const UpdateRule &rule) override;
  void keepChange(int64_t count, float decay, const float *before,
                  const float *after, float *changes) override;
  void moveBack(int64_t count, float steps, const float *weights,
                const float *changes, float *moved) override;
  void weightsWritten(const StageTensors &stage) override;
  int64_t stamp() override { return stampOn(computeStream.handle); }
  int64_t timeOf(int64_t stamp) override;
  void writeTime(int64_t *to) override;
  void toHostTimes(std::vector<int64_t> &times) override;
  void beginTask() override { reached.countUp(computeStream.handle); }
  uint64_t progress() const override { return reached.value(); }
  int64_t enqueueNs() const override { return enqueuedNs; }
  int64_t bytesInUse() const override;
  int place() const override { return myGpu->ordinal; }
  std::string attention() const override;

  // For transports and copies.
  Gpu &gpu() const { return *myGpu; }
  int32_t rank() const { return me; }
  const Stream &compute() const { return computeStream; }
  /// stamp() of another stream of this rank. Thread-safe.
  int64_t stampOn(cudaStream_t stream);
  /// From here on the calling thread works for this rank.
  void enter();
  /// The thread has enqueued an iteration, and from here on only waits.
  void hasEnqueued() { enqueuedNs += threadNs() - enteredNs; }
  /// The compute stream waits for the host's writes. Stamps start over.
  void beginIteration();

private:
  const std::shared_ptr<Gpu> myGpu;
  const int32_t me;
  const bool loadsEarly;
  OwnedStream owned;
  const std::unique_ptr<Gemms> gemms;
  /// Null if it was not wanted or is not there; then why.
  std::unique_ptr<CudnnAttention> cudnn;
  std::string whyNoCudnn;
  Stream computeStream;
  /// Of copyAtOnce(), for copies to the host and from it.
  std::optional<std::pair<OwnedStream, OwnedStream>> hostStreams;
  Counter reached;
  /// For sumSquares().
  void *scratch = nullptr;
  /// Events of the iteration's stamps, and the first one's time on the host's
  /// clock.
  std::mutex stampMutex;
  std::vector<Event> stamps;
  size_t numStamps = 0;
  int64_t firstNs = 0;
  /// Processor time of the thread that last entered, when it did, and the total
  /// over all iterations.
  int64_t enteredNs = 0, enqueuedNs = 0;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_DEVICE_CUDA_DEVICE_H
