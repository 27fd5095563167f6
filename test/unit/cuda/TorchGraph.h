//===- TorchGraph.h - A compiled graph on emulated GPUs ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A container written here as PyTorch's ahead-of-time compiler writes them,
// with a kernel of the driver, and its tables.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_UNIT_CUDA_TORCHGRAPH_H
#define RONDO_TEST_UNIT_CUDA_TORCHGRAPH_H

#include "DeviceTest.h"

#include "runtime/device/cuda/graph.h"
#include "runtime/torch/cuda/state.h"
#include "runtime/torch/random_key.h"
#include "test/cuda_emulation/emulation.h"

#include <set>

extern "C" {
int32_t aoti_torch_empty_strided(int64_t, const int64_t *, const int64_t *,
                                 int32_t, int32_t, int32_t,
                                 rondo::torch::Tensor **);
int32_t aoti_torch_delete_tensor_object(rondo::torch::Tensor *);
int32_t aoti_torch_cuda_addmm_out(rondo::torch::Tensor *,
                                  rondo::torch::Tensor *,
                                  rondo::torch::Tensor *,
                                  rondo::torch::Tensor *, double, double);
int32_t aoti_torch_create_cuda_stream_guard(void *, int32_t, void **);
int32_t aoti_torch_get_device_type(rondo::torch::Tensor *, int32_t *);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuModuleUnload(void *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, unsigned, void *, void **, void **);
int cuGetErrorString(int, const char **);
}

namespace rondo::torch {

using namespace runtime::cuda;
using runtime::alignedBytes;

using namespace rondo::torch;

constexpr int32_t fp32 = 6, int64 = 4, onCuda = 1;
/// A matrix of a graph has rows of 16 floats.
constexpr int64_t rows = 4, columns = 16, count = rows * columns;

//===----------------------------------------------------------------------===//
// A graph: y = (x w + bias) * lossScale + (low bits of the key).
//===----------------------------------------------------------------------===//

/// The module of the graph's kernel, and how it is named there.
inline const char image[] = "cubin";
inline const char *kernelName = "combine";

/// A graph's container on a GPU.
struct Container {
  int32_t device;
  void *module = nullptr, *kernel = nullptr;
};
inline std::set<Container *> containers;
inline std::string lastError;
/// More allocations than the tables have.
inline bool allocatesMore = false;

inline int32_t create(void **container, size_t numModels, const char *device,
                      const char *folder) {
  EXPECT_EQ(numModels, 1u);
  EXPECT_EQ(folder, nullptr);
  auto *made = new Container{std::stoi(std::string(device).substr(5))};
  containers.insert(made);
  *container = made;
  return 0;
}

inline int32_t removeContainer(void *container) {
  auto *known = static_cast<Container *>(container);
  if (known->module)
    cuModuleUnload(known->module);
  containers.erase(known);
  delete known;
  return 0;
}

inline int32_t getLastError(const char **what) {
  *what = lastError.c_str();
  return 0;
}

/// As generated code does.
inline int32_t checkDriver(int error) {
  const char *what = nullptr;
  if (error == 0)
    return 0;
  cuGetErrorString(error, &what);
  lastError = std::string("CUDA driver error: ") + what;
  return 1;
}

inline int32_t runGraph(void *container, Tensor **inputs, size_t numInputs,
                        Tensor **outputs, size_t numOutputs, void *stream,
                        void *) {
  auto *own = static_cast<Container *>(container);
  EXPECT_EQ(numInputs, 5u);
  EXPECT_EQ(numOutputs, 1u);
  lastError.clear();
  void *guard = nullptr;
  int32_t deviceType = -1;
  if (aoti_torch_create_cuda_stream_guard(stream, own->device, &guard) ||
      aoti_torch_get_device_type(inputs[0], &deviceType))
    return 1;
  EXPECT_EQ(deviceType, onCuda);
  const int64_t sizes[] = {rows, columns}, strides[] = {columns, 1};
  auto empty = [&](Tensor **result) {
    return aoti_torch_empty_strided(2, sizes, strides, fp32, onCuda,
                                    own->device, result);
  };
  Tensor *sum = nullptr, *out = nullptr;
  if (empty(&sum) ||
      aoti_torch_cuda_addmm_out(sum, inputs[2], inputs[0], inputs[1], 1, 1) ||
      empty(&out) || (allocatesMore && empty(&out)))
    return 1;
  if (!own->kernel &&
      (checkDriver(cuModuleLoadData(&own->module, image)) ||
       checkDriver(cuModuleGetFunction(&own->kernel, own->module, kernelName))))
    return 1;
  char *from = sum->data(), *to = out->data(), *scale = inputs[3]->data(),
       *key = inputs[4]->data();
  void *parameters[] = {&from, &to, &scale, &key};
  if (checkDriver(cuLaunchKernel(own->kernel, 1, 1, 1, 32, 1, 1, 0, stream,
                                 parameters, nullptr)))
    return 1;
  for (size_t i = 0; i < numInputs; ++i)
    aoti_torch_delete_tensor_object(inputs[i]);
  aoti_torch_delete_tensor_object(sum);
  outputs[0] = out;
  return 0;
}

inline float lowBits(uint64_t key) { return static_cast<float>(key % 1024); }

inline std::function<void()> combine(void **parameters) {
  auto pointer = [&](int p) { return *static_cast<char **>(parameters[p]); };
  return [from = reinterpret_cast<const float *>(pointer(0)),
          to = reinterpret_cast<float *>(pointer(1)),
          scale = reinterpret_cast<const float *>(pointer(2)),
          key = reinterpret_cast<const uint64_t *>(pointer(3))] {
    for (int64_t i = 0; i < count; ++i)
      to[i] = from[i] * *scale + lowBits(*key);
  };
}

//===----------------------------------------------------------------------===//
// Its tables. The bias is a constant of the library.
//===----------------------------------------------------------------------===//

alignas(64) inline const float bias[columns] = {1, 2, 3, 4, 5, 6, 7, 8};

struct Tables {
  DeviceGraph graph{"combined", create, runGraph, removeContainer,
                    getLastError};
  std::vector<Value> inputs{
      {{Space::Inputs, 0, 0}, fp32, 2, {rows, columns}, {columns, 1}},
      {{Space::WeightsInDtype, 0, 0},
       fp32,
       2,
       {columns, columns},
       {1, columns}},
      {{Space::Constants, 0, 0}, fp32, 1, {columns}, {1}},
      {{Space::LossScale, 0, 0}, fp32, 0, {}, {}},
      {{Space::RandomKey, 0, 0}, int64, 1, {1}, {1}}};
  Value output{{Space::Output, 0, 0}, fp32, 2, {rows, columns}, {columns, 1}};
  int64_t scratch = productScratchBytes(rows, columns);
  std::vector<Planned> allocations{{{Space::Workspace, 0, 0}, 4 * count},
                                   {{Space::Workspace, 0, 4 * count}, scratch},
                                   {{Space::Output, 0, 0}, 4 * count}};
  std::vector<Copy> copies{
      {{Space::SavedForWeightGrad, 0, 64}, {Space::Inputs, 0, 0}, 64, false},
      {{Space::SavedForWeightGrad, 0, 0}, {}, 64, true}};
  Task task{nullptr, inputs.data(),
            5,       &output,
            1,       allocations.data(),
            3,       copies.data(),
            2,       reinterpret_cast<const unsigned char *>(bias),
            &graph,  sizeof(bias)};
  const Task *tasks[1] = {&task};
  DeviceBody body{tasks, 1, RONDO_DTYPE_FP32, 90, false};
};

/// A layer of the tables on a rank, and the buffers of a task.
struct Layer {
  Tables &tables;
  rondo_layer layer{};
  std::vector<float> x = randoms<float>(1, count),
                     w = randoms<float>(2, columns *columns);
  DeviceArray<float> onX{x}, onW{w}, out{count}, saved{32};
  DeviceArray<char> workspace;
  DeviceArray<int64_t> iteration{1};
  const void *inputs[1] = {onX.get()};
  rondo_task buffers{};
  const char *fault;

  Layer(Tables &tables, const Stream &stream, int32_t rank = 0,
        int32_t device = 0)
      : tables(tables), workspace(4 * count + tables.scratch) {
    layer.name = "h0";
    buffers.inputs = inputs;
    buffers.weights_in_dtype = onW.get();
    buffers.output = out.get();
    buffers.saved_for_weight_grad = saved.get();
    buffers.workspace = workspace.get();
    buffers.iteration_on_device = iteration.get();
    buffers.loss_scale = 0.25;
    buffers.seed = 7;
    buffers.microbatch = 3;
    buffers.stream = stream.handle;
    fault = loadOnDevice(tables.body, layer, rank, device, &buffers.state);
  }
  ~Layer() { unloadFromDevice(buffers.state); }

  void setIteration(int64_t number) { iteration.write({number}); }
  const char *run() { return runTaskOnDevice(tables.task, layer, buffers); }
  std::vector<double> expected(int64_t number) const {
    std::vector<double> result(count);
    const double added = lowBits(RandomKeys(layer, buffers).of(number));
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double sum = bias[j];
        for (int64_t k = 0; k < columns; ++k)
          sum += double(x[i * columns + k]) * w[j * columns + k];
        result[i * columns + j] = sum * 0.25 + added;
      }
    return result;
  }
};

class TorchTask : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    allocatesMore = false;
    kernelName = "combine";
    emulation::setDriverKernel(image, "combine", combine);
  }
  void expectResult(Layer &layer, int64_t iteration) {
    wait();
    expectClose(layer.out.read(), layer.expected(iteration), 1e-5,
                "the graph's output");
    const std::vector<float> saved = layer.saved.read();
    EXPECT_EQ(std::vector<float>(saved.begin(), saved.begin() + 16),
              std::vector<float>(16));
    EXPECT_EQ(std::vector<float>(saved.begin() + 16, saved.end()),
              std::vector<float>(layer.x.begin(), layer.x.begin() + 16));
  }
};

} // namespace rondo::torch

#endif // RONDO_TEST_UNIT_CUDA_TORCHGRAPH_H
