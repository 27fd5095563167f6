//===- MegatronArguments.cpp - Writes flags of Megatron-LM ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/launch/MegatronArguments.h"

#include "formats/exchange/MegatronLayout.h"
#include "formats/launch/StageCut.h"

#include <cmath>

using namespace rondo;
using namespace rondo::launch;
using namespace rondo::groups;

namespace {

/// Adds the flags of a run to a command.
class Writer {
public:
  explicit Writer(const Run &run)
      : run(run), model(run.model), layout(run.layout),
        execution(run.execution) {}

  WrittenRun write();

private:
  void addModel();
  void addAttention();
  void addWindow();
  void addExperts();
  void addDegrees();
  void addCut();
  void addState();
  void addRecompute();
  void addPrecision();
  void addKernels();
  void addEnvironment();
  void addNotes();
  bool sharesWeights() const { return layout.zero >= 2; }

  const Run &run;
  const Transformer &model;
  const Layout &layout;
  const Execution &execution;
  WrittenRun result;
  Command &command = result.command;
};

void Writer::addModel() {
  command.add("--num-layers", model.layers);
  command.add("--hidden-size", model.hidden);
  if (model.ffn > 0)
    command.add("--ffn-hidden-size", model.ffn);
  addAttention();
  command.add("--seq-length", model.sequence);
  command.add("--max-position-embeddings", model.sequence);
  if (model.isGated) {
    command.add("--swiglu");
    command.add("--normalization", "RMSNorm");
    command.add("--disable-bias-linear");
  }
  // Predictions of further tokens refuse the default, learned positions.
  if (model.isGated || model.extraPredictions > 0)
    command.add("--position-embedding-type", "rope");
  if (!model.hasDropout) {
    command.add("--attention-dropout", "0.0");
    command.add("--hidden-dropout", "0.0");
  }
  command.add("--vocab-size", model.vocab);
  if (!model.isTied)
    command.add("--untie-embeddings-and-output-weights");
  if (model.extraPredictions > 0)
    command.add("--mtp-num-layers", model.extraPredictions);
}

void Writer::addAttention() {
  command.add("--num-attention-heads", model.heads);
  if (model.latent) {
    const LatentAttention &latent = *model.latent;
    command.add("--multi-latent-attention");
    if (latent.queryRank > 0)
      command.add("--q-lora-rank", latent.queryRank);
    command.add("--kv-lora-rank", latent.keyRank);
    command.add("--qk-head-dim", model.queryWidth - latent.rotaryWidth);
    command.add("--qk-pos-emb-head-dim", latent.rotaryWidth);
    command.add("--v-head-dim", model.valueWidth);
    return;
  }
  command.add("--kv-channels", model.queryWidth);
  if (model.keyHeads != model.heads) {
    command.add("--group-query-attention");
    command.add("--num-query-groups", model.keyHeads);
  }
  addWindow();
}

void Writer::addWindow() {
  if (model.window == 0 || model.windowedLayers == 0)
    return;
  // Tokens to the left of a query, and to its right.
  command.add("--window-size", std::to_string(model.window - 1) + ",0");
  const int64_t layers = model.windowedLayers;
  if (layers == model.layers)
    return;
  // One layer of `every` attends to all tokens.
  const int64_t full = model.layers - layers;
  if (model.layers % full == 0)
    command.add("--window-attn-skip-freq", model.layers / full);
  else
    command.add("--window-attn-skip-freq", "([1]*" + std::to_string(layers) +
                                               "+[0]*" + std::to_string(full) +
                                               ")");
}

void Writer::addExperts() {
  if (!model.experts)
    return;
  const Experts &experts = *model.experts;
  command.add("--num-experts", experts.count);
  command.add("--moe-router-topk", experts.perToken);
  command.add("--moe-ffn-hidden-size", experts.ffn);
  if (experts.denseLayers > 0)
    command.add("--moe-layer-freq",
                "([0]*" + std::to_string(experts.denseLayers) + "+[1]*" +
                    std::to_string(model.layers - experts.denseLayers) + ")");
  if (experts.shared > 0)
    command.add("--moe-shared-expert-intermediate-size",
                experts.shared * experts.ffn);
  command.add("--moe-grouped-gemm");
  command.add("--moe-token-dispatcher-type", "alltoall");
}

void Writer::addDegrees() {
  command.add("--tensor-model-parallel-size", layout.tensor);
  if (layout.tensor > 1 && layout.sequenceParallel)
    command.add("--sequence-parallel");
  if (layout.context > 1)
    command.add("--context-parallel-size", layout.context);
  if (layout.expert > 1)
    command.add("--expert-model-parallel-size", layout.expert);
  // The default is the size of the tensor group.
  if (model.experts && layout.tensor > 1)
    command.add("--expert-tensor-parallel-size", int64_t(1));
  command.add("--pipeline-model-parallel-size", layout.pipeline);
  addCut();
  command.add("--micro-batch-size", layout.microbatch);
  command.add("--global-batch-size", layout.globalBatch);
}

void Writer::addCut() {
  const StageCut cut = cutOf(run);
  if (cut.kind == CutKind::Listed) {
    std::vector<exchange::StageLayers> stages;
    for (size_t s = 0; s < cut.layers.size(); ++s)
      stages.push_back({s == 0, s + 1 == cut.layers.size(), cut.layers[s]});
    std::string text = exchange::megatronLayout(stages);
    // The last stage stands alone, so the head is the last letter.
    text.insert(text.size() - 1, size_t(model.extraPredictions), 'm');
    command.add("--pipeline-model-parallel-layout", text);
    return;
  }
  if (layout.chunks > 1)
    command.add("--num-virtual-stages-per-pipeline-rank", layout.chunks);
  if (cut.kind == CutKind::EvenWithEnds) {
    command.add("--account-for-embedding-in-pipeline-split");
    command.add("--account-for-loss-in-pipeline-split");
  }
}

void Writer::addState() {
  if (sharesWeights() && execution.stack == Stack::Fsdp) {
    command.add("--use-torch-fsdp2");
    if (layout.zero == 2)
      command.add("--torch-fsdp2-no-reshard-after-forward");
    command.add("--no-gradient-accumulation-fusion");
    return;
  }
  for (auto [flag, value] :
       exchange::megatronStateFlags(ShardedState(layout.zero)))
    if (*value)
      command.add(flag, value);
    else
      command.add(flag);
  if (execution.overlapsData) {
    command.add("--overlap-grad-reduce");
    if (layout.zero > 0)
      command.add("--overlap-param-gather");
  }
}

void Writer::addRecompute() {
  switch (layout.recompute) {
  case Recompute::None:
    break;
  case Recompute::Selective:
    command.add("--recompute-granularity", "selective");
    command.add("--recompute-modules", "core_attn");
    break;
  case Recompute::NormsAndActivations:
    command.add("--recompute-granularity", "selective");
    command.add("--recompute-modules", "layernorm");
    if (model.experts)
      command.flags.back().values.push_back("moe_act");
    else
      result.notes.push_back(
          "Megatron recomputes activation functions of experts alone; norms "
          "are recomputed, and what activation functions read is kept");
    break;
  case Recompute::Full:
    command.add("--recompute-granularity", "full");
    command.add("--recompute-method", "uniform");
    command.add("--recompute-num-layers", int64_t(1));
    break;
  case Recompute::Layers:
    command.add("--recompute-granularity", "full");
    command.add("--recompute-method", "block");
    command.add("--recompute-num-layers",
                layout.recomputedLayers / (layout.pipeline * layout.chunks));
    break;
  case Recompute::PerOperation:
    break;
  }
  if (execution.offloadedLayers > 0)
    command.add("--cpu-offloading-num-layers", execution.offloadedLayers);
}

void Writer::addPrecision() {
  command.add(execution.precision == Precision::Fp16 ? "--fp16" : "--bf16");
  auto addFp8 = [this](const char *format, const char *recipe) {
    command.add("--fp8-format", format);
    command.add("--fp8-recipe", recipe);
  };
  switch (execution.precision) {
  case Precision::Bf16:
    break;
  case Precision::Fp16:
    // Otherwise gradients are in fp16.
    if (execution.gradientBytes == 4)
      command.add("--accumulate-allreduce-grads-in-fp32");
    break;
  case Precision::Fp8:
    addFp8("hybrid", "tensorwise");
    break;
  case Precision::Fp8Blocks:
    addFp8("e4m3", "blockwise");
    break;
  case Precision::MxFp8:
    addFp8("e4m3", "mxfp8");
    break;
  case Precision::NvFp4:
    command.add("--fp4-format", "e2m1");
    command.add("--fp4-recipe", "nvfp4");
    break;
  }
  if (execution.precision != Precision::Fp16 && execution.gradientBytes == 2)
    command.add("--grad-reduce-in-bf16");
}

void Writer::addKernels() {
  if (execution.attention != Attention::Flash) {
    command.add("--attention-backend", "unfused");
    if (execution.attention == Attention::Separate)
      command.add("--no-masked-softmax-fusion");
  } else if (execution.flashVersion == 2) {
    command.add("--attention-backend", "flash");
    command.add("--flash-attention-version", int64_t(2));
  }
  if (execution.overlapsTensor)
    command.add("--tp-comm-overlap");
  if (execution.overlapsExperts)
    command.add("--overlap-moe-expert-parallel-comm");
}

/// Kernels of groups must start in the order in which the host launches them,
/// which one connection ensures; gathers of weights need several.
void Writer::addEnvironment() {
  const bool hasGroups = layout.tensor > 1 || layout.context > 1;
  const char *name = "CUDA_DEVICE_MAX_CONNECTIONS";
  if (sharesWeights())
    command.environment.emplace_back(name, "8");
  else if (hasGroups)
    command.environment.emplace_back(name,
                                     execution.overlapsExperts ? "32" : "1");
}

void Writer::addNotes() {
  result.notes.push_back(
      "written for " + megatronVersion.str() +
      "; add data, tokenizer, learning rate and length of the run, and what "
      "sizes do not say of the model, such as the base of rotary positions");
  if (sharesWeights() && (layout.tensor > 1 || layout.context > 1))
    result.notes.push_back(
        "Megatron warns about tensor or context groups with FSDP: before "
        "Blackwell the groups need CUDA_DEVICE_MAX_CONNECTIONS=1, and FSDP a "
        "larger value");
  if (execution.overlapsExperts && (layout.tensor > 1 || layout.context > 1))
    result.notes.push_back(
        "Megatron warns about tensor or context groups with "
        "--overlap-moe-expert-parallel-comm: before Blackwell the groups need "
        "CUDA_DEVICE_MAX_CONNECTIONS=1, and the overlap 32");
  if (layout.sequenceParallel && layout.tensor == 1)
    result.notes.push_back("without a tensor group Megatron turns "
                           "--sequence-parallel off; it is left out");
  if (!execution.hasFusedNorms)
    result.notes.push_back("the run has norms of several kernels, and "
                           "Megatron Core has one kernel a norm");
}

WrittenRun Writer::write() {
  addModel();
  addExperts();
  addDegrees();
  addState();
  addRecompute();
  addPrecision();
  addKernels();
  addEnvironment();
  addNotes();
  return std::move(result);
}

} // namespace

WrittenRun launch::megatronArguments(const Run &run) {
  return Writer(run).write();
}
