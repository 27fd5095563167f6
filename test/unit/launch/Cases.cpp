//===- Cases.cpp - Runs for both tools ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Cases.h"

using namespace rondo;
using namespace rondo::groups;
using namespace rondo::launch;

std::vector<Run> launch::megatronRuns() {
  std::vector<Run> runs;
  auto add = [&runs](const char *name, Transformer model,
                     std::vector<int64_t> degrees, int64_t batch) -> Run & {
    runs.push_back(runOf(name, std::move(model), std::move(degrees), batch));
    return runs.back();
  };
  add("70B with chunks", llama70B(), {4, 2, 4, 5, 4}, 1024);
  add("70B without a pipeline", llama70B(), {8, 1, 1, 1, 16}, 256).layout.zero =
      0;
  add("405B, ends count as layers", llama405B(), {8, 2, 8, 8, 1}, 64);
  Run &uneven = add("70B, listed stages", llama70B(), {2, 1, 4, 2, 8}, 256);
  uneven.stageLayers = {8, 11, 11, 10, 10, 10, 11, 9};
  uneven.execution.overlapsData = false;

  Run &tied = add("GPT in fp16", gpt(), {2, 1, 4, 1, 2}, 64);
  tied.execution.precision = Precision::Fp16;
  tied.execution.attention = Attention::Separate;
  tied.layout.recompute = Recompute::Selective;
  tied.layout.sequenceParallel = false;
  tied.layout.microbatch = 4;
  Run &wide = add("GPT, sums in fp32", gpt(), {2, 1, 4, 1, 2}, 64);
  wide.execution.precision = Precision::Fp16;
  wide.execution.gradientBytes = 4;
  wide.execution.attention = Attention::FusedSoftmax;

  Run &full = add("70B, recomputed", llama70B(), {8, 1, 2, 1, 2}, 64);
  full.layout.recompute = Recompute::Full;
  full.execution.flashVersion = 2;
  Run &some = add("70B, some layers", llama70B(), {8, 1, 2, 5, 2}, 64);
  some.layout.recompute = Recompute::Layers;
  some.layout.recomputedLayers = 30;
  some.execution.gradientBytes = 2;
  Run &offloaded = add("70B, offloaded", llama70B(), {8, 1, 1, 1, 2}, 64);
  offloaded.execution.offloadedLayers = 20;

  Run &mixed = add("Mixtral", mixtral(), {2, 1, 4, 2, 8}, 256);
  mixed.layout.expert = 8;
  mixed.layout.recompute = Recompute::NormsAndActivations;
  mixed.execution.precision = Precision::MxFp8;
  Run &latent = add("DeepSeek", deepseek(), {1, 1, 16, 1, 64}, 1024);
  latent.layout.expert = 64;
  latent.model.extraPredictions = 1;
  latent.execution.precision = Precision::Fp8Blocks;
  Run &hidden = add("Qwen3, hidden messages", qwen30B(), {1, 1, 2, 4, 8}, 64);
  hidden.layout.expert = 8;
  hidden.execution.overlapsExperts = true;
  Run &grouped = add("Qwen3 with groups", qwen30B(), {2, 2, 2, 4, 2}, 64);
  grouped.layout.expert = 8;
  grouped.execution.overlapsExperts = true;

  Run &narrow = add("70B in fp8", llama70B(), {4, 1, 8, 5, 2}, 256);
  narrow.execution.precision = Precision::Fp8;
  narrow.execution.overlapsTensor = true;
  Run &narrowest = add("70B in fp4", llama70B(), {4, 1, 8, 5, 2}, 256);
  narrowest.execution.precision = Precision::NvFp4;
  Run &gradients =
      add("8B, gradients shared", llama8B(), {1, 1, 1, 1, 64}, 128);
  gradients.layout.zero = 2;
  Run &weights = add("8B, weights shared", llama8B(), {2, 1, 1, 1, 32}, 128);
  weights.layout.zero = 3;
  Run &torch = add("8B by PyTorch's FSDP", llama8B(), {1, 1, 1, 1, 8}, 128);
  torch.layout.zero = 3;
  torch.execution.stack = Stack::Fsdp;
  Run &kept = add("8B by FSDP, weights kept", llama8B(), {1, 1, 1, 1, 8}, 128);
  kept.layout.zero = 2;
  kept.execution.stack = Stack::Fsdp;

  Run &window = add("8B with windows", llama8B(), {1, 1, 2, 1, 4}, 64);
  window.model.window = 128;
  window.model.windowedLayers = 16;
  Run &windows = add("8B with many windows", llama8B(), {1, 1, 2, 1, 4}, 64);
  windows.model.window = 1024;
  windows.model.windowedLayers = 20;
  return runs;
}

std::vector<Run> launch::torchtitanRuns() {
  std::vector<Run> runs;
  auto add = [&runs](const char *name, Transformer model,
                     std::vector<int64_t> degrees, int64_t batch) -> Run & {
    Run run = runOf(name, std::move(model), std::move(degrees), batch);
    run.execution.stack = Stack::Fsdp;
    run.execution.gradientBytes = 4;
    run.layout.zero = run.layout.pipeline > 1 ? 2 : 3;
    runs.push_back(run);
    return runs.back();
  };
  add("8B by FSDP", llama8B(), {1, 1, 1, 1, 64}, 128);
  add("70B with chunks", llama70B(), {4, 2, 4, 5, 4}, 256).layout.recompute =
      Recompute::PerOperation;
  Run &copies = add("8B, whole copies", llama8B(), {1, 1, 1, 1, 8}, 64);
  copies.layout.zero = 0;
  copies.layout.microbatch = 2;
  Run &kept = add("70B, weights kept", llama70B(), {8, 1, 1, 1, 16}, 64);
  kept.layout.zero = 2;
  kept.layout.recompute = Recompute::Full;
  kept.execution.overlapsTensor = true;
  Run &plain = add("70B, whole activations", llama70B(), {8, 1, 2, 1, 8}, 64);
  plain.layout.sequenceParallel = false;
  plain.layout.microbatch = 2;
  Run &fp8 =
      add("405B, ends count as layers", llama405B(), {8, 1, 16, 8, 1}, 64);
  fp8.layout.zero = 0;
  fp8.execution.precision = Precision::Fp8;
  Run &uneven = add("70B, listed stages", llama70B(), {2, 1, 4, 2, 8}, 256);
  uneven.stageLayers = {8, 11, 11, 10, 10, 10, 11, 9};
  Run &mixed = add("Qwen3 with experts", qwen30B(), {2, 1, 2, 4, 8}, 64);
  mixed.layout.expert = 16;
  Run &latent = add("DeepSeek", deepseek(), {1, 1, 1, 1, 256}, 1024);
  latent.layout.expert = 64;
  return runs;
}

namespace {

/// Adds runs that a tool refuses.
struct Refusals {
  std::vector<RefusedRun> runs;
  Run &add(const char *name, Run run, const char *fault, const char *theirs) {
    run.name = name;
    runs.push_back({std::move(run), fault, theirs});
    return runs.back().run;
  }
};

void addHiddenMessages(Refusals &refused) {
  Run mixed = runOf("", qwen30B(), {1, 1, 2, 4, 8}, 64);
  mixed.layout.expert = 8;
  mixed.execution.overlapsExperts = true;
  refused
      .add("hidden messages to nobody", mixed, "the expert group has 1 device",
           "only supported with expert model parallelism")
      .layout.expert = 1;
  refused
      .add("hidden messages and 1 chunk", mixed, "with 1 chunk each",
           "virtual_pipeline_model_parallel_size must be specified")
      .layout.chunks = 1;
  refused
      .add("hidden messages and recompute", mixed,
           "whole layers are recomputed", "disable full recomputation")
      .layout.recompute = Recompute::Full;
  refused
      .add("hidden messages, predictions", mixed, "2 further tokens",
           "MTP supports at most one layer")
      .model.extraPredictions = 2;
}

void addTorchFsdp(Refusals &refused) {
  Run torch = runOf("", llama8B(), {1, 1, 1, 1, 8}, 128);
  torch.layout.zero = 3;
  torch.execution.stack = Stack::Fsdp;
  refused.add("FSDP in fp16", torch, "with fp16", "not supported with fp16")
      .execution.precision = Precision::Fp16;
  refused
      .add("FSDP, tied", torch, "with one weight",
           "requires --untie-embeddings-and-output-weights")
      .model.isTied = true;
  Run &pipeline =
      refused.add("FSDP in a pipeline", torch, "a pipeline of 2 ranks",
                  "not supported with pipeline parallelism");
  pipeline.layout.pipeline = 2;
  pipeline.layout.zero = 2;
  Run &experts =
      refused.add("FSDP with expert groups", torch, "an expert group of 8",
                  "not supported with expert parallelism");
  experts.model = qwen30B();
  experts.layout.expert = 8;
}

/// Rules of groups::fault().
void addLayoutRules(Refusals &refused) {
  const Run plain = runOf("", llama70B(), {4, 1, 4, 5, 4}, 256);
  refused
      .add("heads", plain, "64 heads do not divide",
           "num_attention_heads (64) must be a multiple")
      .layout.tensor = 48;
  refused
      .add("heads of keys", runOf("", llama70B(), {16, 1, 1, 1, 1}, 64),
           "12 heads of keys", "num_query_groups (12) must be a multiple")
      .model.keyHeads = 12;
  refused
      .add("batch", plain, "250 samples do not divide",
           "(250) must be divisible")
      .layout.globalBatch = 250;
  Run &tokens = refused.add("tokens", plain, "8196 tokens do not divide",
                            "a multiple of 2 * context-parallel-size");
  tokens.model.sequence = 8196;
  tokens.layout.context = 8;
  Run counted = runOf("", qwen30B(), {1, 1, 2, 4, 8}, 64);
  counted.layout.expert = 8;
  refused
      .add("experts", counted, "100 experts do not divide",
           "should be a multiple of expert model parallel_size")
      .model.experts->count = 100;
}

} // namespace

std::vector<RefusedRun> launch::megatronRefusals() {
  Refusals refused;
  const Run plain = runOf("", llama70B(), {4, 1, 4, 5, 4}, 256);
  refused
      .add("a list of other stages", plain, "listed for 3 stages",
           "divisible by pipeline_model_parallel_size")
      .stageLayers = {40, 30, 10};
  refused
      .add("a list of fewer layers", plain, "the stages have 60 layers",
           "Number of decoder layers 60")
      .stageLayers.assign(20, 3);
  refused
      .add("an odd cut", plain, "do not divide into 12 stages",
           "should be divisible by vp_size 3")
      .layout.chunks = 3;
  refused
      .add("experts that are none", plain, "needs a model with experts",
           "num_experts must be non None")
      .layout.expert = 2;
  Run &loose = refused.add("overlap without sequences", plain,
                           "without sequence parallelism",
                           "only when sequence parallelism is enabled");
  loose.layout.sequenceParallel = false;
  loose.execution.overlapsTensor = true;
  refused
      .add("offload in a pipeline", plain, "in a pipeline of 4 ranks",
           "no support for Pipeline parallelism with CPU offloading")
      .execution.offloadedLayers = 4;
  const Run alone = runOf("", llama70B(), {8, 1, 1, 1, 2}, 64);
  Run &twice =
      refused.add("offload and recompute", alone, "activations are recomputed",
                  "does not work when activation recomputation is enabled");
  twice.execution.offloadedLayers = 4;
  twice.layout.recompute = Recompute::Full;
  refused
      .add("offload of all", alone, "80 layers are offloaded of 80",
           "only for layers less than 80")
      .execution.offloadedLayers = 80;

  addHiddenMessages(refused);
  addTorchFsdp(refused);
  addLayoutRules(refused);
  return refused.runs;
}

std::vector<RefusedRun> launch::torchtitanRefusals() {
  Refusals refused;
  auto add = [&refused](const char *name, Run run, const char *fault,
                        const char *theirs) -> Run & {
    run.execution.stack = Stack::Fsdp;
    if (run.layout.zero == 1)
      run.layout.zero = 2;
    return refused.add(name, std::move(run), fault, theirs);
  };
  add("keys that would be copied", runOf("", llama70B(), {16, 1, 1, 1, 8}, 64),
      "8 heads of keys on a tensor group of 16", "must divide n_kv_heads (8)");
  add("heads", runOf("", llama70B(), {3, 1, 1, 1, 8}, 64), "64 heads",
      "must divide n_heads (64)")
      .model.sequence = 8190;
  add("tokens", runOf("", llama8B(), {8, 1, 1, 1, 8}, 64),
      "4100 tokens do not divide into 8 parts", "divisible by 8")
      .model.sequence = 4100;
  add("tokens of context groups", runOf("", llama8B(), {2, 4, 1, 1, 8}, 64),
      "4104 tokens do not divide by 16", "divisible by 16")
      .model.sequence = 4104;
  add("positions", runOf("", llama8B(), {1, 1, 1, 1, 8}, 64),
      "has positions for 131072", "exceeds attention RoPE maximum")
      .model.sequence = 262144;
  Transformer tied = llama(28, 1024, 16, 3072);
  tied.vocab = 151936;
  tied.sequence = 4096;
  tied.isTied = true;
  add("a weight in two stages", runOf("", tied, {1, 1, 2, 1, 4}, 64),
      "one weight, and the pipeline has 2 ranks",
      "Weight tying is not supported");
  add("batch", runOf("", llama8B(), {1, 1, 1, 1, 8}, 60),
      "60 samples do not divide", "must be multiple of local batch size");
  Run &listed =
      add("a list of other stages", runOf("", llama70B(), {4, 1, 4, 2, 4}, 256),
          "listed for 3 stages", "evenly divisible");
  listed.stageLayers = {40, 30, 10};
  return refused.runs;
}
