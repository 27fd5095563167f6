//===- device.cpp - A rank on a GPU ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/device/cuda/device.h"

#include "runtime/base/clock.h"
#include "runtime/bodies/cuda/attention.h"
#include "runtime/bodies/cuda/gemm.h"
#include "runtime/bodies/cuda/layers.h"
#include "runtime/bodies/custom.h"
#include "runtime/device/cuda/arenas.h"
#include "runtime/device/cuda/kernels.h"
#include "runtime/optimizer/cuda.h"

#include <cstring>
#include <map>

using namespace rondo::runtime::cuda;
using namespace rondo::runtime;

CudaDevice::CudaDevice(std::shared_ptr<Gpu> gpu, int32_t rank,
                       const std::shared_ptr<GemmChoices> &choices,
                       bool loadsEarly, Attention wish)
    : myGpu(std::move(gpu)), me(rank), loadsEarly(loadsEarly),
      owned((myGpu->select(), OwnedStream::Priority::Usual)),
      gemms(std::make_unique<Gemms>(Gemms::GeluFusion::ByDevice, choices)) {
  computeStream.handle = owned.get();
  computeStream.gemms = gemms.get();
  if (wish == Attention::Own)
    whyNoCudnn = "--attention own";
  else
    cudnn = CudnnAttention::load(whyNoCudnn);
  if (wish == Attention::Cudnn && !cudnn)
    throw Error("--attention cudnn: " + whyNoCudnn);
  computeStream.attention = cudnn.get();
  RONDO_CUDA(cudaMalloc(&scratch, sumSquaresScratchBytes));
}

CudaDevice::~CudaDevice() {
  cudaSetDevice(myGpu->ordinal);
  cudaFree(scratch);
}

void CudaDevice::enter() {
  callingRank = me;
  myGpu->select();
  enteredNs = threadNs();
}

void CudaDevice::beginIteration() {
  numStamps = 0;
  Gpu::holdBackUntilWritten(computeStream.handle);
}

int64_t CudaDevice::bytesInUse() const {
  myGpu->select();
  size_t available = 0, total = 0;
  RONDO_CUDA(cudaMemGetInfo(&available, &total));
  return static_cast<int64_t>(total - available);
}

std::string CudaDevice::attention() const {
  if (!cudnn)
    return "own kernels (" + whyNoCudnn + ")";
  if (!cudnn->refusal().empty())
    return "own kernels where cuDNN " + cudnn->version() + " has none (" +
           cudnn->refusal() + ")";
  // Without a plan there was no attention in bf16.
  if (!cudnn->isUsed())
    return "";
  return "cuDNN " + cudnn->version() + ", which has " +
         std::to_string(cudnn->bytes()) + " bytes a rank outside its arena";
}

std::unique_ptr<Arena> CudaDevice::makeArena(int64_t bytes) {
  return cuda::makeArena(myGpu, bytes);
}

std::unique_ptr<Arena> CudaDevice::makeHostArena(int64_t bytes) {
  return cuda::makeHostArena(myGpu, me, bytes);
}

const LayerBody &CudaDevice::body(const LayerDesc &layer) const {
  return cudaBody(layer.kind, layer.dtype);
}

void *CudaDevice::stream() const {
  return const_cast<Stream *>(&computeStream);
}

std::shared_ptr<char[]> CudaDevice::makeHostMemory(int64_t bytes) {
  myGpu->select();
  char *memory = nullptr;
  const cudaError_t error = cudaMallocHost(reinterpret_cast<void **>(&memory),
                                           static_cast<size_t>(bytes));
  if (error == cudaErrorMemoryAllocation)
    throw Error("cannot allocate " + std::to_string(bytes) +
                " bytes of the host's memory for what GPU " +
                std::to_string(myGpu->ordinal) +
                " reads and writes in a run of overlapping iterations. A "
                "smaller --drain-every makes runs shorter");
  check(error, "cudaMallocHost", __FILE__, __LINE__);
  std::memset(memory, 0, static_cast<size_t>(bytes));
  return {memory, [](char *pinned) { cudaFreeHost(pinned); }};
}

bool CudaDevice::copyAtOnce(const HostCopies &copies) {
  myGpu->select();
  // Made once, since a copy's time shall not include it.
  if (!hostStreams) {
    using Priority = OwnedStream::Priority;
    hostStreams.emplace(OwnedStream(Priority::Usual),
                        OwnedStream(Priority::Usual));
  }
  const auto &[out, in] = *hostStreams;
  if (copies.outBytes > 0)
    RONDO_CUDA(cudaMemcpyAsync(copies.toHost, copies.from,
                               static_cast<size_t>(copies.outBytes),
                               cudaMemcpyDeviceToHost, out.get()));
  if (copies.inBytes > 0)
    RONDO_CUDA(cudaMemcpyAsync(copies.to, copies.fromHost,
                               static_cast<size_t>(copies.inBytes),
                               cudaMemcpyHostToDevice, in.get()));
  for (const OwnedStream *stream : {&out, &in})
    RONDO_CUDA(cudaStreamSynchronize(stream->get()));
  return true;
}

void CudaDevice::copy(void *to, const void *from, int64_t bytes) {
  RONDO_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes),
                             cudaMemcpyDefault, computeStream.handle));
}

void CudaDevice::clear(void *to, int64_t bytes) {
  RONDO_CUDA(
      cudaMemsetAsync(to, 0, static_cast<size_t>(bytes), computeStream.handle));
}

void CudaDevice::toBf16(void *copy, const float *weights, int64_t count) {
  cuda::toBf16(computeStream, weights, static_cast<__nv_bfloat16 *>(copy),
               count);
}

void CudaDevice::addTo(void *sum, const void *part, int64_t bytes,
                       DType dtype) {
  if (dtype == DType::Bf16)
    cuda::addTo(computeStream, static_cast<__nv_bfloat16 *>(sum),
                static_cast<const __nv_bfloat16 *>(part),
                bytes / int64_t(sizeof(__nv_bfloat16)));
  else
    cuda::addTo(computeStream, static_cast<float *>(sum),
                static_cast<const float *>(part),
                bytes / int64_t(sizeof(float)));
}

int64_t CudaDevice::stampOn(cudaStream_t stream) {
  std::lock_guard<std::mutex> lock(stampMutex);
  if (numStamps == stamps.size())
    stamps.emplace_back(/*keepsTime=*/true);
  if (numStamps == 0)
    firstNs = nowNs();
  stamps[numStamps].record(stream);
  return static_cast<int64_t>(numStamps++);
}

int64_t CudaDevice::timeOf(int64_t stamp) {
  float ms = 0;
  RONDO_CUDA(cudaEventElapsedTime(&ms, stamps.front().get(),
                                  stamps[static_cast<size_t>(stamp)].get()));
  return firstNs + static_cast<int64_t>(ms * 1e6);
}

void CudaDevice::writeTime(int64_t *to) { writeDeviceTime(computeStream, to); }

/// The GPU's clock when the host's shows something between both ends of the
/// shortest of a few round trips.
void CudaDevice::toHostTimes(std::vector<int64_t> &times) {
  if (times.empty())
    return;
  constexpr int numTrips = 4;
  myGpu->select();
  const std::shared_ptr<char[]> memory = makeHostMemory(sizeof(int64_t));
  auto *shown = reinterpret_cast<int64_t *>(memory.get());
  int64_t offset = 0, shortest = INT64_MAX;
  for (int trip = 0; trip < numTrips; ++trip) {
    const int64_t sentNs = nowNs();
    writeTime(shown);
    RONDO_CUDA(cudaStreamSynchronize(computeStream.handle));
    const int64_t tookNs = nowNs() - sentNs;
    if (tookNs >= shortest)
      continue;
    shortest = tookNs;
    offset = sentNs + tookNs / 2 - *static_cast<volatile int64_t *>(shown);
  }
  for (int64_t &time : times)
    time += offset;
}

//===----------------------------------------------------------------------===//
// The optimizer.
//===----------------------------------------------------------------------===//

static __nv_bfloat16 *copyOf(const Tensor &tensor) {
  return static_cast<__nv_bfloat16 *>(tensor.weightsCopy);
}

void CudaDevice::addCopies(const StageTensors &stage) {
  for (int32_t c = 0; c < stage.numTensors; ++c)
    for (int32_t t = 0; t < c; ++t)
      if (stage.tensors[c].sharedWith == stage.tensors[t].name)
        cuda::addCopies(computeStream, stage.tensors[t].gradients,
                        stage.tensors[c].gradients, stage.tensors[t].count);
}

void CudaDevice::sumSquares(const StageTensors &stage) {
  double *partials = stage.control.partials;
  RONDO_CUDA(cudaMemsetAsync(
      partials, 0, sizeof(double) * static_cast<size_t>(stage.numPartials),
      computeStream.handle));
  std::vector<SquaredTensor> tensors;
  for (int32_t t = 0; t < stage.numTensors; ++t) {
    const Tensor &tensor = stage.tensors[t];
    ControlHeader *own = stage.ownHeader(t);
    if (!tensor.layout.isFrozen && (own || tensor.sharedWith.empty()))
      tensors.push_back({tensor.gradients, tensor.count,
                         own ? &own->norm : partials + tensor.partial});
  }
  cuda::sumSquares(computeStream, tensors, scratch);
}

void CudaDevice::sumAll(double *sum, const double *values, int64_t count) {
  RONDO_CUDA(cudaMemsetAsync(sum, 0, sizeof *sum, computeStream.handle));
  addAllTo(computeStream, sum, values, count);
}

void CudaDevice::finishNorm(const double *sum, double maxNorm,
                            const std::vector<ControlHeader *> &headers) {
  cuda::finishNorm(computeStream, sum, maxNorm, headers);
}

void CudaDevice::clipBy(const double *sum, double maxNorm,
                        const std::vector<ControlHeader *> &headers) {
  cuda::clipBy(computeStream, sum, maxNorm, headers);
}

void CudaDevice::step(const StageTensors &stage, const UpdateRule &rule) {
  std::map<const ControlHeader *, std::vector<OptimizedTensor>> byHeader;
  for (int32_t t = 0; t < stage.numTensors; ++t) {
    const Tensor &tensor = stage.tensors[t];
    if (tensor.weightsFrom >= 0 || tensor.layout.isFrozen)
      continue;
    byHeader[stage.headerOf(t)].push_back(
        {tensor.weights, tensor.gradients, tensor.moment1, tensor.moment2,
         copyOf(tensor), tensor.count, tensor.layout.decay, tensor.changes,
         stage.changeDecay});
  }
  for (const auto &[header, tensors] : byHeader)
    switch (rule.kind) {
    case OptimizerKind::AdamW:
      adamw(computeStream, rule.adamw, header, tensors);
      break;
    case OptimizerKind::Sgd:
      sgd(computeStream, rule.sgd, header, tensors);
      break;
    }
  for (int32_t t = 0; t < stage.numTensors; ++t) {
    const Tensor &tensor = stage.tensors[t];
    if (tensor.weightsFrom < 0)
      continue;
    const Tensor &source = stage.tensors[tensor.weightsFrom];
    copy(tensor.weights, source.weights, 4 * tensor.count);
    if (tensor.changes)
      copy(tensor.changes, source.changes, 4 * tensor.count);
    if (tensor.weightsCopy)
      copy(tensor.weightsCopy, source.weightsCopy, 2 * tensor.count);
  }
  if (stage.gradientBytes > 0)
    RONDO_CUDA(cudaMemsetAsync(stage.gradients, 0,
                               static_cast<size_t>(stage.gradientBytes),
                               computeStream.handle));
}

void CudaDevice::keepChange(int64_t count, float decay, const float *before,
                            const float *after, float *changes) {
  cuda::keepChange(computeStream, count, decay, before, after, changes);
}

void CudaDevice::moveBack(int64_t count, float steps, const float *weights,
                          const float *changes, float *moved) {
  cuda::moveBack(computeStream, count, steps, weights, changes, moved);
}

void CudaDevice::weightsWritten(const StageTensors &stage) {
  // Enqueued after the writes; every iteration waits for that stream.
  myGpu->select();
  for (int32_t t = 0; t < stage.numTensors; ++t)
    if (__nv_bfloat16 *copy = copyOf(stage.tensors[t]))
      cuda::toBf16(myGpu->transfers(), stage.tensors[t].weights, copy,
                   stage.tensors[t].count);
}

//===----------------------------------------------------------------------===//
// Every layer runs once before ranks connect.
//
// cuBLASLt may load a kernel when a product first needs it; nothing says that
// CUDA_MODULE_LOADING prevents that. Loading may wait for all work of the GPU,
// also for a receive that waits for a message which must come later
// (openxla/xla#38932). So products are made once before there are any receives.
//===----------------------------------------------------------------------===//

/// Whether tasks of the layer may make products. Other kernels belong to the
/// program, and are loaded with it.
static bool hasProducts(const LayerDesc &layer) {
  return layer.kind != LayerKind::Synthetic &&
         layer.kind != LayerKind::Custom && dataOf(layer) != LayerData::Tokens;
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
  // In each buffer the parts that leave follow those that stay.
  auto awayOf = [](void *saved, int64_t all, int64_t away) -> void * {
    return saved ? static_cast<char *>(saved) + all - away : nullptr;
  };
  args.awayForInputGrad = awayOf(
      args.savedForInputGrad, sizes.savedForInputGrad, sizes.awayForInputGrad);
  args.awayForWeightGrad =
      awayOf(args.savedForWeightGrad, sizes.savedForWeightGrad,
             sizes.awayForWeightGrad);
  args.keptForWeightGrad = region.take(sizes.keptForWeightGrad);
  // Layers of the model's own kinds have one input at most.
  const bool isCustom = layer.kind == LayerKind::Custom;
  const int32_t numInputs = isCustom ? layer.numInputs : 1;
  for (int32_t k = 0; k < numInputs; ++k) {
    const int64_t bytes = isCustom ? layer.inputBytes[k] : sizes.input;
    args.inputs[k] = region.take(bytes);
    args.inputGrads[k] =
        region.take(isCustom ? inputGradBytes(layer, k) : sizes.input);
  }
  args.output = region.take(sizes.output);
  args.outputGrad = region.take(outputGradBytes(layer));
  args.workspace = region.take(sizes.workspace);
  args.data = reinterpret_cast<const int32_t *>(region.take(sizes.data));
  args.loss = region.take(sizeof(float));
  args.iterationOnDevice =
      reinterpret_cast<const int64_t *>(region.take(sizeof(int64_t)));
  args.lossScale = 1;
  if (layer.rowTokens != 0) {
    args.documentStarts =
        reinterpret_cast<const int32_t *>(region.take(2 * sizeof(int32_t)));
    args.numDocuments = 1;
  }
  return args;
}

bool CudaDevice::prepare(const LayerDesc &layer, void *state, Arena &arena) {
  const bool isCustom = layer.kind == LayerKind::Custom;
  if (isCustom ? !customFunction(layer, &rondo_functions::prepare)
               : !loadsEarly || !hasProducts(layer))
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
  args.state = state;
  // Zeros are in range, as tokens and as targets.
  (own ? *own : arena).fill(region.memory, 0, region.bytes);
  if (args.documentStarts) {
    const int32_t oneDocument[] = {0, layer.rowTokens};
    (own ? *own : arena)
        .write(const_cast<int32_t *>(args.documentStarts), oneDocument,
               sizeof(oneDocument));
  }
  Gpu::holdBackUntilWritten(computeStream.handle);
  if (isCustom) {
    const CustomStream scope(computeStream);
    runCustom(layer, args, &rondo_functions::prepare, computeStream.handle);
  } else {
    const LayerBody &tasks = body(layer);
    tasks.forward(&layer, &args);
    tasks.inputGrad(&layer, &args);
    tasks.weightGrad(&layer, &args);
  }
  RONDO_CUDA(cudaStreamSynchronize(computeStream.handle));
  callingRank = -1;
  return !own;
}
