//===- Cases.cpp - Runs for both tools ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Cases.h"

using namespace rondo;
using namespace rondo::groups;
using rondo::launch::RefusedRun;

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
  window.model.windowShare = 0.5;
  Run &windows = add("8B with many windows", llama8B(), {1, 1, 2, 1, 4}, 64);
  windows.model.window = 1024;
  windows.model.windowShare = 20.0 / 32;
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

std::vector<RefusedRun> launch::megatronRefusals() {
  std::vector<RefusedRun> refused;
  auto add = [&refused](const char *name, Run run, const char *fault) -> Run & {
    run.name = name;
    refused.push_back({std::move(run), fault});
    return refused.back().run;
  };
  const Run plain = runOf("", llama70B(), {4, 1, 4, 5, 4}, 256);
  add("a list of other stages", plain, "listed for 3 stages").stageLayers = {
      40, 30, 10};
  add("a list of fewer layers", plain, "the stages have 60 layers")
      .stageLayers.assign(20, 3);
  add("an odd cut", plain, "do not divide into 12 stages").layout.chunks = 3;
  add("experts that are none", plain, "the model has no experts")
      .layout.expert = 2;
  add("overlap without sequences", plain, "without sequence parallelism")
      .layout.sequenceParallel = false;
  refused.back().run.execution.overlapsTensor = true;
  add("offload in a pipeline", plain, "in a pipeline of 4 ranks")
      .execution.offloadedLayers = 4;
  Run &twice =
      add("offload and recompute", runOf("", llama70B(), {8, 1, 1, 1, 2}, 64),
          "activations are recomputed");
  twice.execution.offloadedLayers = 4;
  twice.layout.recompute = Recompute::Full;
  add("offload of all", runOf("", llama70B(), {8, 1, 1, 1, 2}, 64),
      "80 layers are offloaded of 80")
      .execution.offloadedLayers = 80;

  Run mixed = runOf("", qwen30B(), {1, 1, 2, 4, 8}, 64);
  mixed.layout.expert = 8;
  mixed.execution.overlapsExperts = true;
  add("hidden messages to nobody", mixed, "the expert group has 1 device")
      .layout.expert = 1;
  add("hidden messages and 1 chunk", mixed, "with 1 chunk each").layout.chunks =
      1;
  add("hidden messages and recompute", mixed, "whole layers are recomputed")
      .layout.recompute = Recompute::Full;
  add("hidden messages, predictions", mixed, "2 further tokens")
      .model.extraPredictions = 2;

  Run torch = runOf("", llama8B(), {1, 1, 1, 1, 8}, 128);
  torch.layout.zero = 3;
  torch.execution.stack = Stack::Fsdp;
  add("FSDP in fp16", torch, "with fp16").execution.precision = Precision::Fp16;
  add("FSDP, tied", torch, "with one weight").model.isTied = true;
  Run &pipeline = add("FSDP in a pipeline", torch, "a pipeline of 2 ranks");
  pipeline.layout.pipeline = 2;
  pipeline.layout.zero = 2;

  // Rules of groups::fault().
  add("heads", plain, "64 heads do not divide").layout.tensor = 48;
  add("heads of keys", runOf("", llama70B(), {16, 1, 1, 1, 1}, 64),
      "12 heads of keys")
      .model.keyHeads = 12;
  add("batch", plain, "250 samples do not divide").layout.globalBatch = 250;
  add("tokens", plain, "8196 tokens do not divide").model.sequence = 8196;
  refused.back().run.layout.context = 8;
  Run experts = mixed;
  experts.execution.overlapsExperts = false;
  add("experts", experts, "100 experts do not divide").model.experts->count =
      100;
  return refused;
}

std::vector<RefusedRun> launch::torchtitanRefusals() {
  std::vector<RefusedRun> refused;
  auto add = [&refused](const char *name, Run run, const char *fault) -> Run & {
    run.name = name;
    run.execution.stack = Stack::Fsdp;
    if (run.layout.zero == 1)
      run.layout.zero = 2;
    refused.push_back({std::move(run), fault});
    return refused.back().run;
  };
  add("keys that would be copied", runOf("", llama70B(), {16, 1, 1, 1, 8}, 64),
      "8 heads of keys on a tensor group of 16");
  add("heads", runOf("", llama70B(), {3, 1, 1, 1, 8}, 64), "64 heads");
  add("tokens", runOf("", llama8B(), {8, 1, 1, 1, 8}, 64),
      "4100 tokens do not divide by 8")
      .model.sequence = 4100;
  add("tokens of context groups", runOf("", llama8B(), {2, 4, 1, 1, 8}, 64),
      "4104 tokens do not divide by 16")
      .model.sequence = 4104;
  add("positions", runOf("", llama8B(), {1, 1, 1, 1, 8}, 64),
      "has positions for 131072")
      .model.sequence = 262144;
  Transformer tied = llama(28, 1024, 16, 3072);
  tied.vocab = 151936;
  tied.sequence = 4096;
  tied.isTied = true;
  add("a weight in two stages", runOf("", tied, {1, 1, 2, 1, 4}, 64),
      "one weight, and the pipeline has 2 ranks");
  add("batch", runOf("", llama8B(), {1, 1, 1, 1, 8}, 60),
      "60 samples do not divide");
  add("an odd cut", runOf("", llama70B(), {4, 1, 4, 3, 4}, 256),
      "do not divide into 12 stages");
  return refused;
}
