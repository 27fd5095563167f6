//===- probe.cpp - Runs tasks on a GPU for the exporter -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// probeOnDevice() of rondo_torch.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/torch/probe.h"

#include "runtime/base/cuda/stream.h"

#include <optional>

namespace rondo::torch {

namespace {

namespace cuda = runtime::cuda;

/// GPU 0, with a copy of the contents.
class DeviceRunner : public TaskRunner {
public:
  explicit DeviceRunner(const DeviceBody &body)
      : body(body), stream((RONDO_CUDA(cudaSetDevice(0)),
                            cuda::OwnedStream::Priority::Usual)) {}
  ~DeviceRunner() override { unloadFromDevice(state); }

  char *take(char *from, int64_t count) override {
    contents = from;
    bytes = static_cast<size_t>(count);
    memory.emplace(bytes);
    RONDO_CUDA(
        cudaMemcpy(memory->get(), contents, bytes, cudaMemcpyHostToDevice));
    RONDO_CUDA(cudaStreamSynchronize(nullptr));
    return memory->get();
  }

  const char *run(const Task &task, const rondo_layer &layer,
                  rondo_task &buffers) override {
    const Task *const tasks[] = {&task};
    const DeviceBody alone{tasks, 1, body.dtype, body.capability, body.hasPtx};
    if (!state)
      if (const char *what = loadOnDevice(alone, layer, 0, 0, &state))
        return what;
    buffers.state = state;
    buffers.stream = stream.get();
    const char *what = runTaskOnDevice(task, layer, buffers);
    RONDO_CUDA(cudaStreamSynchronize(stream.get()));
    return what;
  }

  void giveBack() override {
    RONDO_CUDA(
        cudaMemcpy(contents, memory->get(), bytes, cudaMemcpyDeviceToHost));
  }

private:
  const DeviceBody &body;
  cuda::OwnedStream stream;
  void *state = nullptr;
  char *contents = nullptr;
  size_t bytes = 0;
  std::optional<cuda::DeviceMemory> memory;
};

} // namespace

int probeOnDevice(int argc, char **argv, const Probed *tasks, int32_t numTasks,
                  const DeviceBody &body, const rondo_layer &layer) {
  return exitCodeOf([&] {
    DeviceRunner runner(body);
    return probeTasks(argc, argv, runner, tasks, numTasks, layer);
  });
}

} // namespace rondo::torch
