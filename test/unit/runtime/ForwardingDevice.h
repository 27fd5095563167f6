//===- ForwardingDevice.h - A CPU device with parts replaced ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_FORWARDINGDEVICE_H
#define RONDO_TEST_UNIT_RUNTIME_FORWARDINGDEVICE_H

#include "runtime/device/device.h"

#include <memory>
#include <vector>

namespace rondo::runtime::test {

/// Does what a CPU's device does. Tests override the functions that they
/// observe or replace.
class ForwardingDevice : public Device {
public:
  std::unique_ptr<Arena> makeArena(int64_t bytes) override {
    return cpu->makeArena(bytes);
  }
  const LayerBody &body(const LayerDesc &layer) const override {
    return cpu->body(layer);
  }
  void copy(void *to, const void *from, int64_t bytes) override {
    cpu->copy(to, from, bytes);
  }
  void clear(void *to, int64_t bytes) override { cpu->clear(to, bytes); }
  void addTo(void *sum, const void *part, int64_t bytes, DType dtype) override {
    cpu->addTo(sum, part, bytes, dtype);
  }
  void addCopies(const StageTensors &stage) override { cpu->addCopies(stage); }
  void sumSquares(const StageTensors &stage) override {
    cpu->sumSquares(stage);
  }
  void sumAll(double *sum, const double *values, int64_t count) override {
    cpu->sumAll(sum, values, count);
  }
  void finishNorm(const double *sum, double maxNorm,
                  const std::vector<ControlHeader *> &headers) override {
    cpu->finishNorm(sum, maxNorm, headers);
  }
  void clipBy(const double *sum, double maxNorm,
              const std::vector<ControlHeader *> &headers) override {
    cpu->clipBy(sum, maxNorm, headers);
  }
  void step(const StageTensors &stage, const UpdateRule &rule) override {
    cpu->step(stage, rule);
  }
  void keepChange(int64_t count, float decay, const float *before,
                  const float *after, float *changes) override {
    cpu->keepChange(count, decay, before, after, changes);
  }
  void moveBack(int64_t count, float steps, const float *weights,
                const float *changes, float *moved) override {
    cpu->moveBack(count, steps, weights, changes, moved);
  }
  int64_t stamp() override { return cpu->stamp(); }

private:
  const std::unique_ptr<Device> cpu = makeCpuDevice();
};

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_FORWARDINGDEVICE_H
