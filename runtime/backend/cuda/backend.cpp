//===- backend.cpp - Which GPU a rank gets, and how GPUs connect ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A single process runs all ranks, on one GPU or on as many GPUs as ranks. With
// several processes, each has one rank and takes the GPU with its number on its
// machine.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/backend.h"

#include "runtime/bodies/cuda/gemm_choices.h"
#include "runtime/transport/cuda/gpu_transports.h"

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

namespace {

/// The choices of the tuner that lives; none without one.
std::weak_ptr<GemmChoices> currentChoices;

class GemmTuner : public ChoiceTuner {
public:
  explicit GemmTuner(const TuningParams &params)
      : choices(std::make_shared<GemmChoices>(
            params.text, GemmChoices::Options{params.name, params.mayMeasure,
                                              params.changed})) {
    currentChoices = choices;
  }
  ~GemmTuner() override { currentChoices.reset(); }
  std::string text() const override { return choices->text(); }
  void add(const std::string &text) override { choices->add(text); }

private:
  const std::shared_ptr<GemmChoices> choices;
};

} // namespace

static Attention currentAttention = Attention::Fastest;

static void useAttention(Attention attention) { currentAttention = attention; }

static std::unique_ptr<ChoiceTuner> makeTuner(const TuningParams &params) {
  return std::make_unique<GemmTuner>(params);
}

static std::unique_ptr<Device> makeDevice(int32_t rank, int32_t ranks,
                                          const World &world) {
  setDefaults(!world.isAlone() || mayUseSeveralGpus(ranks));
  const int gpus = countGpus();
  int ordinal = world.localProcess % gpus;
  if (world.isAlone())
    ordinal = ranks <= gpus ? rank : 0;
  const bool usesNccl = !world.isAlone() || (ranks > 1 && ranks <= gpus);
  std::shared_ptr<Gpu> gpu = Gpu::get(ordinal);
  // The sequential program runs all stages on the first rank's GPU.
  for (int other = 0;
       rank == 0 && world.isAlone() && ranks <= gpus && other < ranks; ++other)
    if (other != ordinal)
      gpu->reach(other);
  return std::make_unique<CudaDevice>(gpu, rank, currentChoices.lock(),
                                      usesNccl, currentAttention);
}

static std::unique_ptr<Transport>
makeTransport(const TransportParams &params,
              const std::vector<Device *> &devices,
              const TransportOptions &options, const World &world) {
  if (params.link.isImposed())
    throw Error("--link cannot slow down links between GPUs: leave it out",
                Exit::Usage);
  if (params.checks)
    throw Error("--check-messages cannot look into messages between GPUs: "
                "leave it out",
                Exit::Usage);
  if (params.linkTrace)
    throw Error("--link-trace cannot change links between GPUs: leave it out",
                Exit::Usage);
  std::vector<CudaDevice *> gpus;
  bool isOneGpu = world.isAlone();
  for (Device *device : devices) {
    gpus.push_back(static_cast<CudaDevice *>(device));
    if (isOneGpu)
      isOneGpu = &gpus.front()->gpu() == &gpus.back()->gpu();
  }
  if (isOneGpu)
    return makeLoopbackTransport(params, gpus, options);
  // Measuring waits for all work of a GPU, so it must be over (prepare()).
  if (const std::shared_ptr<GemmChoices> choices = currentChoices.lock())
    choices->stopMeasuring();
  // According to NCCL's manual, graphs may deadlock with several GPUs in a
  // process.
  TransportOptions own = options;
  own.useGraph = options.useGraph && !world.isAlone();
  return makeNcclTransport(params, gpus, own, world);
}

/// Processes need only a store to find each other.
static const ProcessSupport processes = {"NCCL", nullptr, nullptr, nullptr};
const Backend rondo::runtime::cudaBackend = {
    makeDevice, makeTransport, &processes, sumsOfGpus, makeTuner, useAttention};
