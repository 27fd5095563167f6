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
#include "runtime/launch/world.h"
#include "runtime/transport/cuda/loopback.h"
#include "runtime/transport/cuda/nccl_transport.h"

#include <algorithm>

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

/// The lowest GPU whose memory the first one cannot reach; `gpus` if it reaches
/// all.
static int firstOutOfReach(int gpus) {
  int other = 1;
  while (other < gpus && Gpu::get(0)->reach(other))
    ++other;
  return other;
}

/// Whether each rank of a lone process has a GPU of its own. The sequential
/// program runs all stages on the first rank's GPU, on the memory of all. If it
/// cannot reach them, all ranks share that GPU.
static bool takesGpuEach(int32_t rank, int32_t ranks, int gpus,
                         const World &world) {
  if (ranks < 2 || ranks > gpus)
    return false;
  const int other = firstOutOfReach(ranks);
  if (other == ranks)
    return true;
  // Several processes have no store for their reference.
  if (rank == 0 && world.store)
    sayNote("GPU 0 has no access to the memory of GPU " +
            std::to_string(other) + ", so all " + std::to_string(ranks) +
            " ranks of this process share GPU 0; to use all GPUs, start a "
            "process for each rank");
  return false;
}

static int ordinalInProcess(const World &world, int gpus) {
  if (world.localProcess < 0 && gpus > 1)
    throw Error(world.startedBy +
                    " does not say which processes are on one "
                    "machine, and this one has " +
                    std::to_string(gpus) +
                    " GPUs: give each process its number on its machine with "
                    "--local-rank, or let it see only its GPU "
                    "(CUDA_VISIBLE_DEVICES)",
                Exit::Usage);
  return std::max(0, world.localProcess) % gpus;
}

static std::unique_ptr<Device> makeDevice(int32_t rank, int32_t ranks,
                                          const World &world) {
  setDefaults(!world.isAlone() || mayUseSeveralGpus(ranks));
  const int gpus = countGpus();
  const bool hasOwn = world.isAlone() && takesGpuEach(rank, ranks, gpus, world);
  const int ordinal = !world.isAlone() ? ordinalInProcess(world, gpus)
                      : hasOwn         ? rank
                                       : 0;
  const bool usesNccl = !world.isAlone() || hasOwn;
  return std::make_unique<CudaDevice>(Gpu::get(ordinal), rank,
                                      currentChoices.lock(), usesNccl,
                                      currentAttention);
}

static std::unique_ptr<Transport>
makeTransport(const TransportParams &params,
              const std::vector<Device *> &devices,
              const TransportOptions &options, const World &world) {
  if (params.checks)
    throw Error("--check-messages cannot look into messages between GPUs: "
                "leave it out",
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
  if (options.useGraph && world.isAlone() && world.store)
    sayNote("iterations are not recorded as graphs, since this process has "
            "several GPUs; start a process for each rank to record them, or "
            "add --graph off");
  own.useGraph = options.useGraph && !world.isAlone();
  return makeNcclTransport(params, gpus, own, world);
}

/// Processes need only a store to find each other.
static const ProcessSupport processes = {"NCCL", nullptr, nullptr, nullptr};
const Backend rondo::runtime::cudaBackend = {
    makeDevice, makeTransport, &processes, sumsOfGpus,
    makeTuner,  useAttention,  false};
