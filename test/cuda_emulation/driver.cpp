//===- driver.cpp - Modules of the emulated driver ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that are found by their names, as those of libcuda.so are.
// Handles are addresses; an error is a number.
//
//===----------------------------------------------------------------------===//

#include "emulation.h"
#include "engine.h"

#include <map>
#include <mutex>
#include <string>

namespace {

using emulation::DriverKernel;

constexpr int invalidValue = 1, invalidImage = 200, notFound = 500,
              captureUnsupported = 900;

using Kernels = std::map<std::string, DriverKernel>;

std::mutex mutex;
int numModules = 0;

/// The kernels of each image, by name. Programs add theirs before main().
std::map<const void *, Kernels> &images() {
  static std::map<const void *, Kernels> all;
  return all;
}

/// Whether the calling thread captures: no module may be loaded then.
bool isCapturing() {
  emulation::Engine &engine = emulation::Engine::get();
  const std::lock_guard<std::mutex> lock(engine.mutex);
  auto capture = engine.captureOfThread();
  if (capture)
    capture->isValid = false;
  return capture != nullptr;
}

int moduleLoadData(void **module, const void *image) {
  if (int error = emulation::injected("cuModuleLoadData"))
    return error;
  if (isCapturing())
    return captureUnsupported;
  const std::lock_guard<std::mutex> lock(mutex);
  auto found = images().find(image);
  if (found == images().end())
    return invalidImage;
  *module = &found->second;
  ++numModules;
  return 0;
}

int moduleUnload(void *) {
  const std::lock_guard<std::mutex> lock(mutex);
  --numModules;
  return 0;
}

int moduleGetFunction(void **function, void *module, const char *name) {
  const std::lock_guard<std::mutex> lock(mutex);
  auto &kernels = *static_cast<Kernels *>(module);
  auto found = kernels.find(name);
  if (found == kernels.end())
    return notFound;
  *function = &found->second;
  return 0;
}

int funcSetAttribute(void *, int, int) { return 0; }

int launchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                 unsigned blockX, unsigned blockY, unsigned blockZ,
                 unsigned sharedBytes, void *stream, void **parameters,
                 void **) {
  if (!function)
    return invalidValue;
  const dim3 grid(gridX, gridY, gridZ), block(blockX, blockY, blockZ);
  const auto handle = static_cast<cudaStream_t>(stream);
  if (const cudaError_t error =
          emulation::checkLaunch(function, grid, block, sharedBytes, handle))
    return error;
  emulation::enqueue(handle,
                     (*static_cast<DriverKernel *>(function))(parameters));
  return 0;
}

int getErrorString(int error, const char **text) {
  *text = error == invalidImage ? "device kernel image is invalid"
                                : "an emulated error";
  return 0;
}

} // namespace

void emulation::setDriverKernel(const void *image, const char *name,
                                DriverKernel kernel) {
  const std::lock_guard<std::mutex> lock(mutex);
  images()[image][name] = std::move(kernel);
}

int emulation::loadedModules() {
  const std::lock_guard<std::mutex> lock(mutex);
  return numModules;
}

cudaError_t
cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned,
                                 unsigned long long,
                                 cudaDriverEntryPointQueryResult *result) {
  static const std::map<std::string, void *> all = {
      {"cuModuleLoadData", reinterpret_cast<void *>(moduleLoadData)},
      {"cuModuleUnload", reinterpret_cast<void *>(moduleUnload)},
      {"cuModuleGetFunction", reinterpret_cast<void *>(moduleGetFunction)},
      {"cuFuncSetAttribute", reinterpret_cast<void *>(funcSetAttribute)},
      {"cuLaunchKernel", reinterpret_cast<void *>(launchKernel)},
      {"cuGetErrorString", reinterpret_cast<void *>(getErrorString)}};
  auto found = all.find(name);
  *function = found == all.end() ? nullptr : found->second;
  *result = *function ? cudaDriverEntryPointSuccess
                      : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
