//===- cpu.cpp - A rank's memory and work in this process -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/device/host_arena.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>

using namespace rondo::runtime;

Arena::~Arena() = default;
Device::~Device() = default;

std::shared_ptr<char[]> Device::makeHostMemory(int64_t bytes) {
  return std::shared_ptr<char[]>(new char[static_cast<size_t>(bytes)]());
}

std::unique_ptr<Arena> Device::makeHostArena(int64_t bytes) {
  return makeCpuDevice()->makeArena(bytes);
}

void Device::writeTime(int64_t *to) { *to = nowNs(); }

namespace {

class CpuArena : public HostArena {
public:
  explicit CpuArena(int64_t bytes) : HostArena(bytes) {
    if (bytes == 0)
      return;
    memory = static_cast<char *>(
        std::aligned_alloc(bufferAlignment, alignedBytes(bytes)));
    if (!memory)
      throw Error("cannot allocate an arena of " + std::to_string(bytes) +
                  " bytes");
    // Touching every page now keeps page faults out of the first iteration.
    std::memset(memory, 0, static_cast<size_t>(bytes));
  }
  ~CpuArena() override { std::free(memory); }
};

class CpuDevice : public Device {
public:
  std::unique_ptr<Arena> makeArena(int64_t bytes) override {
    return std::make_unique<CpuArena>(bytes);
  }
  const LayerBody &body(const LayerDesc &layer) const override {
    return cpuBody(layer.kind);
  }

  void copy(void *to, const void *from, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }

  void clear(void *to, int64_t bytes) override {
    std::memset(to, 0, static_cast<size_t>(bytes));
  }

  void addTo(void *sum, const void *part, int64_t bytes, DType) override {
    float *out = static_cast<float *>(sum);
    const float *in = static_cast<const float *>(part);
    for (int64_t i = 0; i < bytes / int64_t(sizeof(float)); ++i)
      out[i] += in[i];
  }

  void addCopies(const StageTensors &stage) override {
    for (int32_t c = 0; c < stage.numTensors; ++c) {
      const Tensor &copy = stage.tensors[c];
      for (int32_t t = 0; t < c; ++t) {
        const Tensor &tensor = stage.tensors[t];
        if (copy.sharedWith != tensor.name)
          continue;
        for (int64_t i = 0; i < tensor.count; ++i)
          copy.gradients[i] = tensor.gradients[i] += copy.gradients[i];
      }
    }
  }

  void sumSquares(const StageTensors &stage) override {
    double *partials = stage.control.partials;
    std::fill(partials, partials + stage.numPartials, 0.0);
    for (int32_t t = 0; t < stage.numTensors; ++t) {
      const Tensor &tensor = stage.tensors[t];
      ControlHeader *own = stage.ownHeader(t);
      if (tensor.layout.isFrozen || (!own && !tensor.sharedWith.empty()))
        continue;
      (own ? own->norm : partials[tensor.partial]) =
          sumOfSquares(tensor.gradients, tensor.count);
    }
  }

  void sumAll(double *sum, const double *values, int64_t count) override {
    *sum = std::accumulate(values, values + count, 0.0);
  }

  void finishNorm(const double *sum, double maxNorm,
                  const std::vector<ControlHeader *> &headers) override {
    const double norm = std::sqrt(*sum);
    for (ControlHeader *header : headers) {
      header->norm = norm;
      header->isFinite = std::isfinite(norm);
      header->step.clipFactor =
          header->isFinite ? clipFactor(norm, maxNorm) : 0;
    }
  }

  void clipBy(const double *sum, double maxNorm,
              const std::vector<ControlHeader *> &headers) override {
    const double norm = std::sqrt(*sum);
    if (!std::isfinite(norm))
      return;
    for (ControlHeader *header : headers)
      if (header->isFinite)
        header->step.clipFactor = clipFactor(norm, maxNorm);
  }

  void step(const StageTensors &stage, const UpdateRule &rule) override {
    for (int32_t t = 0; t < stage.numTensors; ++t) {
      const Tensor &tensor = stage.tensors[t];
      if (tensor.layout.isFrozen)
        continue;
      if (tensor.weightsFrom >= 0) {
        const Tensor &source = stage.tensors[tensor.weightsFrom];
        std::copy_n(source.weights, tensor.count, tensor.weights);
        if (tensor.changes)
          std::copy_n(source.changes, tensor.count, tensor.changes);
        continue;
      }
      const ControlHeader &header = *stage.headerOf(t);
      const UpdatedTensor updated = {tensor.count,   tensor.layout.decay,
                                     tensor.weights, tensor.gradients,
                                     tensor.moment1, tensor.moment2,
                                     tensor.changes, stage.changeDecay};
      if (header.isFinite)
        update(rule, &header.step, updated);
      else
        skipUpdate(updated);
    }
    if (stage.gradients)
      std::memset(stage.gradients, 0, static_cast<size_t>(stage.gradientBytes));
  }

  void keepChange(int64_t count, float decay, const float *before,
                  const float *after, float *changes) override {
    rondo::runtime::keepChange(count, decay, before, after, changes);
  }

  void moveBack(int64_t count, float steps, const float *weights,
                const float *changes, float *moved) override {
    rondo::runtime::moveBack(count, steps, weights, changes, moved);
  }

  int64_t stamp() override { return nowNs(); }
};

} // namespace

std::unique_ptr<Device> rondo::runtime::makeCpuDevice() {
  return std::make_unique<CpuDevice>();
}
