//===- device.h - What computes a rank's tasks ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device owns memory, the bodies of the layers, and the work of an iteration
// that belongs to no layer. A CPU does everything at once in the caller's
// thread. Other devices enqueue: a call returns before its work is done, and
// the work runs in the order of the calls, so a rank's program is the same for
// both. Transport::end() waits for it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_DEVICE_DEVICE_H
#define RONDO_RUNTIME_DEVICE_DEVICE_H

#include "runtime/bodies/body.h"
#include "runtime/device/tensor.h"
#include "runtime/optimizer/rule.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace rondo::runtime {

/// A choice where a device has several. Bits differ between them, not between
/// runs with the same.
enum class Attention : uint8_t {
  /// cuDNN's where it is there, else own.
  Fastest,
  Own,
  Cudnn,
};

/// One rank's memory: a single allocation, made at start and freed with the
/// object. Addresses are the device's; the host may use only read(), write()
/// and fill() on them.
class Arena {
public:
  virtual ~Arena();
  /// Aligned to bufferAlignment; null if bytes() is 0.
  virtual char *base() const = 0;
  /// Exactly the requested bytes.
  virtual int64_t bytes() const = 0;
  /// Copies to and from the host. Ranges must be inside the arena, `host` may
  /// be reused on return, and calls take effect in order. They see what an
  /// iteration wrote once it has ended, and an iteration sees what was written
  /// before it began.
  virtual void read(void *host, const void *device, int64_t bytes) const = 0;
  virtual void write(void *device, const void *host, int64_t bytes) = 0;
  virtual void fill(void *device, uint8_t byte, int64_t bytes) = 0;
};

/// Copies from a device to memory of makeHostMemory() and back.
struct HostCopies {
  const char *from;
  char *toHost, *to;
  const char *fromHost;
  int64_t outBytes, inBytes;
};

class Device {
public:
  virtual ~Device();

  /// Zeroed memory of 0 bytes or more. Throws Error if there is not enough.
  virtual std::unique_ptr<Arena> makeArena(int64_t bytes) = 0;
  /// Zeroed memory of the host of 0 bytes or more, for what the rank copies
  /// there. The host may use its addresses. Throws Error if there is not
  /// enough.
  virtual std::unique_ptr<Arena> makeHostArena(int64_t bytes);

  /// The computation of a layer of this kind and dtype.
  virtual const LayerBody &body(const LayerDesc &layer) const = 0;
  /// Makes ready what a layer's tasks would make at their first run, if that
  /// may not happen between messages. Called at start, before ranks connect,
  /// while nobody needs the arena. `state` is LayerArgs::state of the tasks.
  /// True: the arena may have any content now.
  virtual bool prepare(const LayerDesc &, void * /*state*/, Arena &) {
    return false;
  }
  /// LayerArgs::stream for every task.
  virtual void *stream() const { return nullptr; }

  /// Whether calls return before their work is done.
  virtual bool enqueues() const { return false; }
  /// Zeroed memory of the host that copy() and writeTime() can use.
  virtual std::shared_ptr<char[]> makeHostMemory(int64_t bytes);

  /// Makes both copies at once and waits for them. Nothing else may run on the
  /// device. False, without a copy, if its memory is the host's.
  virtual bool copyAtOnce(const HostCopies &) { return false; }

  /// Copies between buffers of the ranks' arenas, or one of them and memory of
  /// makeHostMemory().
  virtual void copy(void *to, const void *from, int64_t bytes) = 0;
  /// Writes zeros.
  virtual void clear(void *to, int64_t bytes) = 0;
  /// Rounds fp32 weights to bf16, for layers that read both: none of a CPU.
  virtual void toBf16(void *, const float *, int64_t) {}
  /// Adds `part` to `sum` element by element and rounds each sum to the dtype,
  /// for the gradients of several stages fed by one stage. The CPU only takes
  /// fp32.
  virtual void addTo(void *sum, const void *part, int64_t bytes,
                     DType dtype) = 0;

  /// Adds the gradients of each tensor and its copy in the same stage; if they
  /// are in two stages, a collective does it.
  virtual void addCopies(const StageTensors &stage) = 0;
  /// Writes the sum of squares of each tensor's gradient to control.partials; a
  /// copy counts 0. Of a tensor with its own header, the sum goes to that
  /// header's norm, also of a copy, and counts 0 in control.partials.
  virtual void sumSquares(const StageTensors &stage) = 0;
  /// Adds `values` one after another and writes the sum, which must not be one
  /// of them.
  virtual void sumAll(double *sum, const double *values, int64_t count) = 0;
  /// Writes the norm, the finite flag and the clip factor to the headers, given
  /// `sum`, the sum of squares of all gradients in the device's memory. `sum`
  /// may be in one of them.
  virtual void finishNorm(const double *sum, double maxNorm,
                          const std::vector<ControlHeader *> &headers) = 0;
  /// The same of a norm that takes the place of the headers' own: writes the
  /// clip factor of those whose finite flag is set. Without effect if the norm
  /// is not finite.
  virtual void clipBy(const double *sum, double maxNorm,
                      const std::vector<ControlHeader *> &headers) = 0;
  /// The optimizer on all tensors, except those whose finite flag is 0 and
  /// copies with weightsFrom, which then get those weights. Sets the gradients
  /// to 0.
  virtual void step(const StageTensors &stage, const UpdateRule &rule) = 0;
  /// The running mean of changes after a step of weights from `before` to
  /// `after`, which keeps `decay` of it.
  virtual void keepChange(int64_t count, float decay, const float *before,
                          const float *after, float *changes) = 0;
  /// moved[i] = weights[i] - steps * changes[i].
  virtual void moveBack(int64_t count, float steps, const float *weights,
                        const float *changes, float *moved) = 0;
  /// Call this after the host has written weights: updates everything derived
  /// from them.
  virtual void weightsWritten(const StageTensors &) {}

  /// stamp() marks a point in the work so far; timeOf() gives the time it was
  /// reached, ns. Call timeOf() after the iteration has ended and before the
  /// next one begins.
  virtual int64_t stamp() = 0;
  virtual int64_t timeOf(int64_t stamp) { return stamp; }

  /// Writes the time, ns on the device's own clock, to memory of
  /// makeHostMemory(), also where iterations are recorded.
  virtual void writeTime(int64_t *to);
  /// Converts such times to the host's clock. Call this when the device has
  /// done its work.
  virtual void toHostTimes(std::vector<int64_t> &) {}

  /// A task begins: what has been enqueued before it counts one in progress()
  /// once the device has done it, also where iterations are recorded.
  virtual void beginTask() {}
  /// 0 for devices that do not enqueue. Any thread.
  virtual uint64_t progress() const { return 0; }

  /// Processor time that threads have spent so far enqueueing the device's
  /// iterations, or launching recorded ones, ns. -1 if nothing is enqueued.
  virtual int64_t enqueueNs() const { return -1; }

  /// Bytes of the device's memory in use, by all programs. -1 if its memory is
  /// the host's. Ranks with the same `place` share it.
  virtual int64_t bytesInUse() const { return -1; }
  virtual int place() const { return 0; }
  /// Which implementation of attention tasks take, for people; empty if there
  /// is only one.
  virtual std::string attention() const { return ""; }
};

/// Memory and threads of this process. All ranks may share one object.
std::unique_ptr<Device> makeCpuDevice();

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_DEVICE_DEVICE_H
