//===- TorchtitanConfig.cpp - Writes flags of torchtitan ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/launch/TorchtitanConfig.h"

#include "formats/launch/StageCut.h"
#include "formats/launch/TorchtitanModels.h"
#include "kinds/Counts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace rondo;
using namespace rondo::launch;
using namespace rondo::groups;

namespace {

std::string number(int64_t value) { return std::to_string(value); }

/// torchtitan's configuration of the run's model and precision, or null.
const TorchtitanModel *modelOf(const Run &run) {
  for (const TorchtitanModel &model : torchtitanModels())
    if (model.precision == run.execution.precision &&
        haveSameLayers(model.sizes, run.model))
      return &model;
  return nullptr;
}

/// Adds the flags of a run to a command.
class Writer {
public:
  Writer(const Run &run, const TorchtitanSource &source)
      : run(run), layout(run.layout), source(source) {}

  WrittenRun write();

private:
  void addModel();
  void addBatch();
  void addDegrees();
  void addPipeline();
  void addKernels();
  void add(const char *key, int64_t value) {
    command.add(std::string("--parallelism.") + key, value);
  }

  const Run &run;
  const Layout &layout;
  const TorchtitanSource &source;
  WrittenRun result;
  Command &command = result.command;
};

void Writer::addModel() {
  const TorchtitanModel *model = modelOf(run);
  std::string module = source.module, config = source.config;
  if (model && config.empty()) {
    module = model->module;
    config = model->config;
  }
  if (!module.empty())
    command.add("--module", module);
  if (!config.empty())
    command.add("--config", config);
}

void Writer::addBatch() {
  command.add("--training.seq_len", run.model.sequence);
  // A pipeline takes all micro-batches at once; without one they are steps that
  // add up gradients.
  command.add("--training.local_batch_size",
              layout.pipeline > 1 ? layout.microbatch * layout.microbatches()
                                  : layout.microbatch);
  command.add("--training.global_batch_size", layout.globalBatch);
  if (layout.pipeline > 1 || layout.expert > 1)
    command.add("--training.disable_cuda_graphs");
}

void Writer::addDegrees() {
  const bool isSharded = layout.zero >= 2;
  add("data_parallel_replicate_degree", isSharded ? 1 : layout.data);
  add("data_parallel_shard_degree", isSharded ? layout.data : 1);
  if (isSharded)
    command.add("--parallelism.fsdp_reshard_after_forward",
                layout.zero == 3 ? "always" : "never");
  add("tensor_parallel_degree", layout.tensor);
  command.add(layout.tensor == 1 || layout.sequenceParallel
                  ? "--parallelism.enable_sequence_parallel"
                  : "--parallelism.no_enable_sequence_parallel");
  add("context_parallel_degree", layout.context);
  add("expert_parallel_degree", layout.expert);
  add("pipeline_parallel_degree", layout.pipeline);
}

void Writer::addPipeline() {
  if (layout.pipeline == 1)
    return;
  command.add("--parallelism.pipeline_parallel_schedule",
              layout.chunks > 1 ? "Interleaved1F1B" : "1F1B");
  add("pipeline_parallel_microbatch_size", layout.microbatch);
  const StageCut cut = cutOf(run);
  if (cut.kind == CutKind::Even || cut.kind == CutKind::EvenWithEnds) {
    const int64_t ends = cut.kind == CutKind::EvenWithEnds;
    add("pipeline_parallel_layers_per_stage", cut.layers[0] + ends);
    add("pipeline_parallel_first_stage_less_layers", ends);
    add("pipeline_parallel_last_stage_less_layers", ends);
    return;
  }
  Flag modules = {"--parallelism.module_fqns_per_model_part", {}};
  int64_t layer = 0;
  for (size_t s = 0; s < cut.layers.size(); ++s) {
    std::vector<std::string> names;
    if (s == 0)
      names.emplace_back("tok_embeddings");
    for (int64_t i = 0; i < cut.layers[s]; ++i)
      names.push_back("layers." + number(layer++));
    if (s + 1 == cut.layers.size())
      names.insert(names.end(), {"norm", "lm_head"});
    modules.values.push_back(llvm::join(names, ","));
  }
  if (!modules.values.empty())
    command.flags.push_back(std::move(modules));
}

void Writer::addKernels() {
  command.add("--compile.enable");
  command.add(run.execution.overlapsTensor
                  ? "--compile.enable_async_tensor_parallel"
                  : "--compile.no_enable_async_tensor_parallel");
  // A subcommand of its parser, which must come last.
  command.add(layout.recompute == Recompute::None ? "activation-checkpoint:none"
              : layout.recompute == Recompute::Full
                  ? "activation-checkpoint:full"
                  : "activation-checkpoint:selective");
}

WrittenRun Writer::write() {
  addModel();
  addBatch();
  addDegrees();
  addPipeline();
  addKernels();
  result.notes.push_back(
      "written for " + torchtitanVersion.str() +
      ", whose keys for batches differ from later versions'; data, tokenizer "
      "and optimizer are those of the configuration");
  if (!run.execution.overlapsData)
    result.notes.push_back("the run's sums of gradients do not overlap, and "
                           "torchtitan's always do");
  if (run.model.hasDropout)
    result.notes.push_back("the model has dropout, and torchtitan's have none");
  return std::move(result);
}

std::string sizesText(const Transformer &model) {
  return countOf(model.layers, "layer") + ", hidden size " +
         number(model.hidden) + ", " + countOf(model.heads, "head") + " and " +
         countOf(model.experts ? model.experts->count : 0, "expert");
}

std::string modelFault(const Run &run, const TorchtitanSource &source) {
  if (!source.config.empty() || modelOf(run))
    return "";
  for (const TorchtitanModel &model : torchtitanModels())
    if (haveSameLayers(model.sizes, run.model))
      return torchtitanVersion.str() + " has " + model.config +
             " in another precision; write a function that makes the "
             "configuration, and give its --module and --config";
  std::vector<std::string> names;
  for (const TorchtitanModel &model : torchtitanModels())
    names.emplace_back(model.config);
  return torchtitanVersion.str() + " has no configuration of a model with " +
         sizesText(run.model) +
         "; write a function that makes one, and give its --module and "
         "--config (known here: " +
         llvm::join(names, ", ") + ")";
}

std::string stateFault(const Run &run, const TorchtitanSource &) {
  const Layout &layout = run.layout;
  if (layout.zero == 1)
    return "replicas share the optimizer's state alone (ZeRO 1); torchtitan "
           "shares weights too (FSDP): ZeRO 2 or 3";
  if (layout.zero == 0 && layout.context > 1)
    return "a context group of " + number(layout.context) +
           " devices without shared state; torchtitan shares weights in "
           "context groups (FSDP): ZeRO 2 or 3";
  return "";
}

std::string sizeFault(const Run &run, const TorchtitanSource &) {
  const Layout &layout = run.layout;
  const Transformer &model = run.model;
  const int64_t keyHeads = model.latent ? model.heads : model.keyHeads;
  if (keyHeads % layout.tensor != 0)
    return countOf(keyHeads, "head") + " of keys on a tensor group of " +
           number(layout.tensor) +
           "; torchtitan does not copy them, so tensor_parallel_degree must "
           "divide n_kv_heads";
  const int64_t parts = (layout.sequenceParallel ? layout.tensor : 1) *
                        (layout.context > 1 ? 2 * layout.context : 1);
  if (model.sequence % parts != 0)
    return countOf(model.sequence, "token") + " do not divide by " +
           number(parts) +
           "; torchtitan needs seq_len % (tp * 2 * cp) = 0, without tp if "
           "there is no sequence parallelism, and without 2 * cp if cp is 1";
  const TorchtitanModel *own = modelOf(run);
  if (own && model.sequence > own->maxSequence)
    return countOf(model.sequence, "token") + " in a sequence; " + own->config +
           " has positions for " + number(own->maxSequence);
  if (model.isTied && layout.pipeline > 1)
    return "embedding and head have one weight, and the pipeline has " +
           countOf(layout.pipeline, "rank") +
           "; torchtitan does not tie weights in pipelines";
  if (layout.expert > 1 && !model.experts)
    return "the expert group has " + number(layout.expert) +
           " devices, but the model has no experts";
  return "";
}

/// Features without a flag in torchtitan.
std::string featureFault(const Run &run, const TorchtitanSource &) {
  const Execution &execution = run.execution;
  const Recompute recompute = run.layout.recompute;
  if (recompute != Recompute::None && recompute != Recompute::Full &&
      recompute != Recompute::PerOperation)
    return "recomputation of some modules or layers; torchtitan has none, full "
           "and selective by operation";
  if (execution.attention != Attention::Flash)
    return "attention that writes its scores; torchtitan has fused kernels";
  if (execution.precision == Precision::Fp16)
    return "fp16; torchtitan trains in bf16 or fp32";
  if (execution.gradientBytes == 2)
    return "gradients are summed in 2 bytes; torchtitan sums them in fp32 "
           "(training.mixed_precision_reduce)";
  if (execution.overlapsExperts)
    return "messages to experts overlap another micro-batch; torchtitan does "
           "not overlap them so";
  if (execution.offloadedLayers > 0)
    return "activations of " + countOf(execution.offloadedLayers, "layer") +
           " are offloaded; torchtitan has no flag for it";
  return "";
}

} // namespace

WrittenRun launch::torchtitanArguments(const Run &run,
                                       const TorchtitanSource &source) {
  return Writer(run, source).write();
}

std::string launch::torchtitanFault(const Run &run,
                                    const TorchtitanSource &source) {
  const std::string stages = run.layout.pipeline > 1 ? stageFault(run) : "";
  if (!stages.empty())
    return stages + "; torchtitan takes an even cut or "
                    "module_fqns_per_model_part with every layer";
  using Rule = std::string (*)(const Run &, const TorchtitanSource &);
  for (Rule rule : {featureFault, modelFault, stateFault, sizeFault})
    if (std::string fault = rule(run, source); !fault.empty())
      return fault;
  return "";
}
