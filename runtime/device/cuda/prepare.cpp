//===- prepare.cpp - Every layer runs once before ranks connect -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuBLASLt may load a kernel when a product first needs it; nothing says that
// CUDA_MODULE_LOADING prevents that. Loading may wait for all work of the GPU,
// also for a receive that waits for a message which must come later
// (openxla/xla#38932). So products are made once before there are any receives.
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/cuda/gemm.h"
#include "runtime/device/cuda/device.h"

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

/// Whether tasks of the layer may make products. Embeddings make none; running
/// them does no harm. Other kernels belong to the program, and are loaded with
/// it.
static bool hasProducts(LayerKind kind) {
  return kind != LayerKind::Synthetic && kind != LayerKind::Custom;
}

namespace {

/// Places buffers one after the other; without memory it only counts.
struct Region {
  char *memory = nullptr;
  int64_t bytes = 0;

  char *take(int64_t count) {
    char *place = memory && count > 0 ? memory + bytes : nullptr;
    bytes += alignedBytes(count);
    return place;
  }
};

} // namespace

/// The buffers of all tasks of a layer.
static LayerArgs layOut(const LayerDesc &layer, Region &region) {
  const LayerSizes sizes = layerSizes(layer);
  LayerArgs args{};
  args.weights = region.take(sizes.weights);
  args.gradients = region.take(sizes.gradients);
  args.savedForInputGrad = region.take(sizes.savedForInputGrad);
  args.savedForWeightGrad = region.take(sizes.savedForWeightGrad);
  args.inputs[0] = region.take(sizes.input);
  args.output = region.take(sizes.output);
  args.outputGrad = region.take(sizes.output);
  args.inputGrads[0] = region.take(sizes.input);
  args.workspace = region.take(sizes.workspace);
  args.data = reinterpret_cast<const int32_t *>(region.take(sizes.data));
  args.loss = region.take(sizeof(float));
  args.lossScale = 1;
  return args;
}

bool CudaDevice::prepare(const LayerDesc &layer, Arena &arena) {
  if (!loadsEarly || !hasProducts(layer.kind))
    return false;
  enter();
  Region needed;
  layOut(layer, needed);
  // A rank's memory has room for one of its layers, with rare exceptions.
  std::unique_ptr<Arena> own;
  if (needed.bytes > arena.bytes())
    own = makeArena(needed.bytes);
  Region region;
  region.memory = (own ? *own : arena).base();
  LayerArgs args = layOut(layer, region);
  args.stream = stream();
  // Zeros are in range, as tokens and as targets.
  (own ? *own : arena).fill(region.memory, 0, region.bytes);
  Gpu::holdBackUntilWritten(computeStream.handle);
  const LayerBody &tasks = body(layer);
  tasks.forward(&layer, &args);
  tasks.inputGrad(&layer, &args);
  tasks.weightGrad(&layer, &args);
  RONDO_CUDA(cudaStreamSynchronize(computeStream.handle));
  callingRank = -1;
  return !own;
}
