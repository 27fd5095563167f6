//===- run_tables.h - Host memory of an enqueued run ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_RUN_TABLES_H
#define RONDO_RUNTIME_EXECUTION_RUN_TABLES_H

#include "runtime/device/device.h"
#include "runtime/optimizer/control.h"

#include <cstdint>
#include <memory>

namespace rondo::runtime {

/// Host memory through which a replica gets what a run of overlapping
/// iterations needs, and returns its results, on a device that enqueues its
/// work. The host fills it before the run and reads it after the run. In
/// between, the device's work copies entries when it gets there, so a recorded
/// run can be repeated: it finds new values at the same addresses.
class RunTables {
public:
  /// The most of the runs so far.
  struct Sizes {
    int64_t iterations = 0;
    /// Control headers of a step: the stage's, and those of tensors that have
    /// their own.
    int64_t headers = 1;
    /// Micro-batches that the replica takes, and the bytes of the samples of
    /// each; 0: it reads none.
    int64_t microbatches = 0, dataBytes = 0;
  };

  explicit RunTables(Device &device) : device(device) {}

  /// Makes room for a run. Returns whether the memory is another one than
  /// before: then recordings of earlier runs are invalid.
  bool reserve(const Sizes &needed);

  // For the host.
  StepControl &control(int64_t step, int64_t header) {
    return stepAt(step, header).control;
  }
  /// The number of an iteration in the training, from 0, which tasks read.
  int64_t &before(int64_t iteration) { return stepAt(iteration).before; }
  /// The samples of a micro-batch; `number` counts those that the replica
  /// takes.
  char *data(int64_t number) {
    return memory.get() + dataOffset() + number * sizes.dataBytes;
  }
  float loss(int64_t number) const { return losses()[number]; }
  /// Whether no part of a step was skipped.
  bool isFinite(int64_t step) const;
  /// On the device's clock.
  int64_t endTime(int64_t step) const { return stepAt(step).endTime; }

  // In the order of the device's work.
  /// Writes step number and learning rate to a header, which has a number.
  void writeControl(ControlHeader *to, int64_t step, int64_t header);
  void writeData(char *slot, int64_t number) {
    device.copy(slot, data(number), sizes.dataBytes);
  }
  void readLoss(const float *loss, int64_t number) {
    device.copy(losses() + number, loss, sizeof(float));
  }
  /// Reads a header after a step, and the time of its end.
  void readHeader(const ControlHeader *from, int64_t step, int64_t header) {
    device.copy(&stepAt(step, header).result, from, sizeof *from);
  }
  void readEnd(int64_t step) { device.writeTime(&stepAt(step).endTime); }

private:
  /// Control of a step, then a header; numbers and time of the iteration are in
  /// the former.
  struct Step {
    StepControl control;
    int64_t before;
    ControlHeader result;
    int64_t endTime;
  };
  Step &stepAt(int64_t step, int64_t header = 0) const {
    return reinterpret_cast<Step *>(
        memory.get())[step * sizes.headers + header];
  }
  int64_t lossOffset() const {
    return sizes.iterations * sizes.headers *
           static_cast<int64_t>(sizeof(Step));
  }
  float *losses() const {
    return reinterpret_cast<float *>(memory.get() + lossOffset());
  }
  int64_t dataOffset() const {
    return alignedBytes(lossOffset() + sizes.microbatches *
                                           static_cast<int64_t>(sizeof(float)));
  }

  Device &device;
  Sizes sizes;
  std::shared_ptr<char[]> memory;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_RUN_TABLES_H
