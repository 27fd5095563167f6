//===- MegatronRules.cpp - Runs that Megatron-LM refuses ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of arguments.py, transformer_config.py and moe_layer.py for the
// flags that megatronArguments() writes, without those of groups::fault().
//
//===----------------------------------------------------------------------===//

#include "formats/exchange/MegatronLayout.h"
#include "formats/launch/MegatronArguments.h"
#include "formats/launch/StageCut.h"
#include "kinds/Counts.h"

using namespace rondo;
using namespace rondo::launch;
using namespace rondo::groups;

namespace {

std::string number(int64_t value) { return std::to_string(value); }

bool recomputesLayers(const Layout &layout) {
  return layout.recompute == Recompute::Full ||
         layout.recompute == Recompute::Layers;
}

std::string attentionFault(const Run &run) {
  const Transformer &model = run.model;
  if (!model.latent && model.queryWidth != model.valueWidth)
    return "a head has " + number(model.queryWidth) +
           " columns for queries and " + number(model.valueWidth) +
           " for values; without --multi-latent-attention Megatron has one "
           "width, --kv-channels";
  if (model.latent && model.queryWidth <= model.latent->rotaryWidth)
    return "a head has " + number(model.queryWidth) +
           " columns for queries, of which " +
           number(model.latent->rotaryWidth) +
           " have rotary positions; --qk-head-dim, the rest, must be 1 or more";
  return "";
}

std::string groupFault(const Run &run) {
  const Layout &layout = run.layout;
  if (layout.expert > 1 && !run.model.experts)
    return "the expert group has " + number(layout.expert) +
           " devices, but the model has no experts; Megatron needs "
           "--num-experts with --expert-model-parallel-size";
  if (run.model.experts && layout.tensor > 1 && !layout.sequenceParallel)
    return "a tensor group of " + number(layout.tensor) +
           " with experts and without sequence parallelism; Megatron's layers "
           "with experts need --sequence-parallel";
  if (run.execution.overlapsTensor &&
      (layout.tensor == 1 || !layout.sequenceParallel))
    return "messages of the tensor group of " + number(layout.tensor) +
           " overlap products without sequence parallelism; "
           "--tp-comm-overlap needs --sequence-parallel and 2 devices or more";
  return "";
}

std::string expertOverlapFault(const Run &run) {
  const Layout &layout = run.layout;
  if (!run.execution.overlapsExperts)
    return "";
  const std::string rule = "; --overlap-moe-expert-parallel-comm needs ";
  if (layout.expert == 1)
    return "messages to experts overlap, but the expert group has 1 device" +
           rule + "--expert-model-parallel-size 2 or more";
  if (layout.pipeline > 1 && layout.chunks == 1)
    return "messages to experts overlap in a pipeline of " +
           countOf(layout.pipeline, "rank") + " with 1 chunk each" + rule +
           "2 chunks or more in a pipeline";
  if (recomputesLayers(layout))
    return "messages to experts overlap, and whole layers are recomputed" +
           rule + "a recomputation that is not full";
  if (run.model.extraPredictions > 1)
    return "the model predicts " + number(run.model.extraPredictions) +
           " further tokens" + rule + "at most 1";
  return "";
}

std::string recomputeFault(const Run &run) {
  const Layout &layout = run.layout;
  if (layout.recompute == Recompute::PerOperation)
    return "recomputation is chosen by operation, which Megatron does not "
           "have; it has none, selective by module, full, and full of some "
           "layers";
  const int64_t stages = layout.pipeline * layout.chunks;
  if (layout.recompute == Recompute::Layers &&
      (layout.recomputedLayers < stages ||
       layout.recomputedLayers % stages != 0))
    return countOf(layout.recomputedLayers, "layer") +
           " of the model are recomputed; --recompute-num-layers is the same "
           "number in each of the " +
           countOf(stages, "stage");
  return "";
}

std::string offloadFault(const Run &run) {
  const int64_t layers = run.execution.offloadedLayers;
  if (layers == 0)
    return "";
  const std::string offloaded = countOf(layers, "layer") + " are offloaded";
  if (layers < 0 || layers >= run.model.layers)
    return offloaded + " of " + number(run.model.layers) +
           "; --cpu-offloading-num-layers must be less than all";
  if (run.layout.pipeline > 1)
    return offloaded + " in a pipeline of " +
           countOf(run.layout.pipeline, "rank") +
           "; Megatron does not offload in pipelines";
  if (run.layout.recompute != Recompute::None)
    return offloaded + ", and activations are recomputed; Megatron does one "
                       "of the two";
  return "";
}

/// PyTorch's FSDP in Megatron.
std::string torchFsdpFault(const Run &run) {
  const Layout &layout = run.layout;
  if (run.execution.stack != Stack::Fsdp || layout.zero < 2)
    return "";
  const std::string with = "--use-torch-fsdp2 with ";
  if (layout.pipeline > 1)
    return with + "a pipeline of " + countOf(layout.pipeline, "rank") +
           "; it needs 1";
  if (layout.expert > 1)
    return with + "an expert group of " + number(layout.expert) +
           " devices; it needs 1";
  if (run.execution.precision == Precision::Fp16)
    return with + "fp16; it needs bf16";
  if (run.model.isTied)
    return with + "one weight for embedding and head; it needs "
                  "--untie-embeddings-and-output-weights";
  return "";
}

std::string microbatchFault(const Run &run) {
  const Layout &layout = run.layout;
  if (layout.chunks == 1)
    return "";
  return exchange::whyNoGroups(
      {layout.pipeline, layout.chunks, layout.microbatches(), layout.pipeline});
}

} // namespace

std::string launch::megatronFault(const Run &run) {
  std::string stages = stageFault(run);
  if (!stages.empty())
    return stages + "; Megatron takes an even cut or "
                    "--pipeline-model-parallel-layout with every layer";
  using Rule = std::string (*)(const Run &);
  for (Rule rule :
       {attentionFault, groupFault, expertOverlapFault, recomputeFault,
        offloadFault, torchFsdpFault, microbatchFault})
    if (std::string fault = rule(run); !fault.empty())
      return fault;
  return "";
}
