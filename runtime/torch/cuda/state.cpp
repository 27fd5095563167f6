//===- state.cpp - What exported layers keep on a GPU ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/torch/cuda/state.h"

#include <mutex>
#include <string>
#include <utility>

namespace rondo::torch {

namespace cuda = runtime::cuda;

RankGraphs::~RankGraphs() {
  cudaSetDevice(device);
  for (const auto &[graph, container] : containers)
    graph->remove(container);
}

void *RankGraphs::container(const DeviceGraph &graph) {
  void *&found = containers[&graph];
  const std::string name = "cuda:" + std::to_string(device);
  if (!found && graph.create(&found, 1, name.c_str(), nullptr) != 0) {
    const char *what = nullptr;
    containers.erase(&graph);
    throw runtime::Error(
        "graph '" + std::string(graph.name) + "' cannot be loaded on GPU " +
        std::to_string(device) +
        (graph.lastError(&what) == 0 && what ? std::string(": ") + what : ""));
  }
  return found;
}

cuda::Gemms &RankGraphs::gemms() {
  if (!ownGemms)
    ownGemms = std::make_unique<cuda::Gemms>();
  return *ownGemms;
}

//===----------------------------------------------------------------------===//
// Objects that layers share.
//===----------------------------------------------------------------------===//

namespace {

/// Objects by key, each as long as one of its users.
template <typename Key, typename Object> class Shared {
public:
  template <typename Make>
  std::shared_ptr<Object> get(const Key &key, const Make &make) {
    const std::lock_guard<std::mutex> lock(mutex);
    std::weak_ptr<Object> &known = all[key];
    std::shared_ptr<Object> found = known.lock();
    if (!found)
      known = found = make();
    return found;
  }

private:
  std::mutex mutex;
  std::map<Key, std::weak_ptr<Object>> all;
};

} // namespace

static std::shared_ptr<RankGraphs> graphsOf(int32_t rank, int32_t device) {
  static Shared<std::pair<int32_t, int32_t>, RankGraphs> all;
  return all.get({rank, device},
                 [&] { return std::make_shared<RankGraphs>(device); });
}

static std::shared_ptr<const cuda::DeviceMemory> constantsOf(const Task &task,
                                                             int32_t device) {
  if (task.constantBytes == 0)
    return nullptr;
  using Memory = const cuda::DeviceMemory;
  static Shared<std::pair<const unsigned char *, int32_t>, Memory> all;
  return all.get({task.constants, device}, [&] {
    const auto bytes = static_cast<size_t>(task.constantBytes);
    auto memory = std::make_shared<cuda::DeviceMemory>(bytes);
    RONDO_CUDA(cudaMemcpy(memory->get(), task.constants, bytes,
                          cudaMemcpyHostToDevice));
    // Other streams do not wait for the default one.
    RONDO_CUDA(cudaStreamSynchronize(nullptr));
    return std::shared_ptr<Memory>(std::move(memory));
  });
}

//===----------------------------------------------------------------------===//
// Loading.
//===----------------------------------------------------------------------===//

static std::string nameOf(int32_t capability) {
  return std::to_string(capability / 10) + "." +
         std::to_string(capability % 10);
}

/// Throws Error if the GPU does not run kernels of the body.
static void checkCapability(const DeviceBody &body, int32_t device) {
  int major = 0, minor = 0;
  RONDO_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                    device));
  RONDO_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor,
                                    device));
  const int32_t found = 10 * major + minor;
  // From 9.0 on, kernels may use what only their own capability has.
  const bool isSame = found == body.capability;
  const bool isLater =
      found > body.capability && major == body.capability / 10 && major < 9;
  if (isSame || isLater || (found > body.capability && body.hasPtx))
    return;
  throw runtime::Error(
      "its graphs are compiled for GPUs of compute capability " +
      nameOf(body.capability) + ", and GPU " + std::to_string(device) +
      " has " + nameOf(found) + ": export the model for that");
}

static void checkDtype(const DeviceBody &body, const rondo_layer &layer) {
  if (body.dtype == layer.dtype)
    return;
  auto name = [](int32_t dtype) {
    return dtype == RONDO_DTYPE_BF16 ? "bf16" : "fp32";
  };
  throw runtime::Error(std::string("it was exported in ") + name(body.dtype) +
                       ", and the program has --dtype=" + name(layer.dtype) +
                       ": compile it with --dtype=" + name(body.dtype));
}

const char *loadOnDevice(const DeviceBody &body, const rondo_layer &layer,
                         int32_t rank, int32_t device, void **state) try {
  checkDtype(body, layer);
  RONDO_CUDA(cudaSetDevice(device));
  checkCapability(body, device);
  auto graphs = graphsOf(rank, device);
  std::shared_ptr<const cuda::DeviceMemory> constants;
  for (int32_t t = 0; t < body.numTasks; ++t) {
    const Task &task = *body.tasks[t];
    if (task.deviceGraph)
      graphs->container(*task.deviceGraph);
    if (!constants)
      constants = constantsOf(task, device);
  }
  *state = new DeviceLayer{std::move(graphs), std::move(constants),
                           cuda::DeviceMemory(sizeof(DeviceScalars))};
  return nullptr;
} catch (const std::exception &error) {
  fail(error.what());
  return lastFault().c_str();
}

void unloadFromDevice(void *state) {
  auto *layer = static_cast<DeviceLayer *>(state);
  if (!layer)
    return;
  cudaSetDevice(layer->graphs->device);
  delete layer;
}

} // namespace rondo::torch
