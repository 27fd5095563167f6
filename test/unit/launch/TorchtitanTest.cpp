//===- TorchtitanTest.cpp - Runs as flags of torchtitan, and back ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Cases.h"
#include "Fields.h"

#include "formats/launch/TorchtitanConfig.h"

#include "gtest/gtest.h"

using namespace rondo;
using namespace rondo::launch;

namespace {

const std::string of8B =
    "--module llama3 --config llama3_8b --training.disable_cuda_graphs ";

ReadRun readOn(const std::string &text, int64_t devices) {
  ReadOptions options;
  options.devices = devices;
  return readTorchtitanArguments(text, options);
}

TEST(TorchtitanConfig, WhatIsWrittenIsReadAgain) {
  for (const groups::Run &run : torchtitanRuns()) {
    SCOPED_TRACE(run.name);
    EXPECT_EQ(torchtitanFault(run), "");
    WrittenRun written = torchtitanArguments(run);
    written.command.program = {"-m", "torchtitan.train"};
    launchByTorchrun(written.command, run.layout.devices(), 8);
    const ReadRun read =
        readTorchtitanArguments(written.command.text(), ReadOptions());
    EXPECT_EQ(read.fault, "");
    EXPECT_EQ(fieldsOf(read.run), fieldsOf(run));
  }
}

TEST(TorchtitanConfig, RefusedRunsAreNamed) {
  for (const RefusedRun &refused : torchtitanRefusals()) {
    SCOPED_TRACE(refused.run.name);
    const std::string fault =
        faultOf(refused.run, torchtitanFault(refused.run));
    EXPECT_NE(fault.find(refused.fault), std::string::npos) << fault;
  }
}

TEST(TorchtitanConfig, RunsThatFlagsCannotSayAreRefused) {
  groups::Run run = runOf("", llama8B(), {1, 1, 1, 1, 8}, 64);
  EXPECT_NE(torchtitanFault(run).find("(ZeRO 1)"), std::string::npos);
  run.layout.zero = 3;
  EXPECT_EQ(torchtitanFault(run), "");
  auto expect = [](groups::Run changed, const char *words) {
    EXPECT_NE(torchtitanFault(changed).find(words), std::string::npos)
        << torchtitanFault(changed);
  };
  groups::Run changed = run;
  changed.layout.zero = 0;
  changed.layout.context = 2;
  expect(changed, "a context group of 2 devices without shared state");
  changed = run;
  changed.layout.recompute = groups::Recompute::Selective;
  expect(changed, "recomputation of some modules");
  changed = run;
  changed.execution.precision = groups::Precision::Fp16;
  expect(changed, "fp16; torchtitan trains");
  changed = run;
  changed.execution.precision = groups::Precision::Fp8;
  expect(changed, "torchtitan 0.3.0 has llama3_8b in another precision");
  changed = run;
  changed.model.layers = 33;
  expect(changed, "no configuration of a model with 33 layers");
  EXPECT_EQ(torchtitanFault(changed, {"mine", "my_model"}), "");
  changed = run;
  changed.execution.gradientBytes = 2;
  expect(changed, "summed in 2 bytes");
  changed = run;
  changed.execution.offloadedLayers = 2;
  expect(changed, "2 layers are offloaded");
}

TEST(TorchtitanConfig, DefaultsAreTheConfigurations) {
  ReadRun read = readOn("--module llama3 --config llama3_70b", 64);
  EXPECT_EQ(read.fault, "");
  EXPECT_EQ(read.run.layout.tensor, 8);
  EXPECT_EQ(read.run.layout.data, 8);
  EXPECT_EQ(read.run.layout.microbatch, 8);
  EXPECT_EQ(read.run.layout.globalBatch, 64);
  EXPECT_EQ(read.run.layout.zero, 3);
  EXPECT_TRUE(read.run.layout.sequenceParallel);
  EXPECT_EQ(read.run.layout.recompute, groups::Recompute::Full);
  read = readOn("NGPU=4 CONFIG=llama3_8b MODULE=llama3 ./run_train.sh "
                "--training.steps 10 activation-checkpoint:none",
                0);
  EXPECT_EQ(read.fault, "");
  EXPECT_EQ(read.run.layout.data, 4);
  EXPECT_EQ(read.run.layout.recompute, groups::Recompute::None);
}

TEST(TorchtitanConfig, NamesMayHaveDashes) {
  const ReadRun read = readOn(
      of8B + "--parallelism.tensor-parallel-degree=2 "
             "--parallelism.no-enable-sequence-parallel --compile.enable "
             "--compile.no_enable",
      8);
  EXPECT_EQ(read.fault, "");
  EXPECT_EQ(read.run.layout.tensor, 2);
  EXPECT_FALSE(read.run.layout.sequenceParallel);
}

TEST(TorchtitanConfig, StagesAreDividedAsTorchtitanDoes) {
  using Layers = std::vector<int64_t>;
  // 34 with both ends: the first two stages get one more.
  ReadRun read = readOn(of8B + "--parallelism.pipeline_parallel_degree 4 "
                               "--training.local_batch_size 8",
                        8);
  EXPECT_EQ(read.fault, "");
  EXPECT_EQ(read.run.stageLayers, (Layers{8, 9, 8, 7}));
  EXPECT_EQ(read.run.layout.microbatches(), 8);
  read =
      readOn(of8B + "--parallelism.pipeline_parallel_degree 4 "
                    "--parallelism.pipeline_parallel_schedule Interleaved1F1B "
                    "--parallelism.pipeline_parallel_first_stage_less_layers "
                    "0 --parallelism.pipeline_parallel_last_stage_less_layers "
                    "0",
             8);
  EXPECT_EQ(read.run.layout.chunks, 2);
  EXPECT_TRUE(read.run.stageLayers.empty());
}

TEST(TorchtitanConfig, ModelsOfOthersAreGiven) {
  ReadOptions options;
  options.devices = 8;
  const std::string text = "--module mine --config my_model";
  EXPECT_NE(
      readTorchtitanArguments(text, options)
          .fault.find("--module 'mine' --config 'my_model' is not known here"),
      std::string::npos);
  options.model = gpt();
  const ReadRun read = readTorchtitanArguments(text, options);
  EXPECT_EQ(read.fault, "");
  EXPECT_EQ(read.run.model.layers, 24);
}

TEST(TorchtitanConfig, BadFlagsAreNamed) {
  const std::pair<const char *, const char *> bad[] = {
      {"--parallelism.tensor_parallel_degree two",
       "line 1: --parallelism.tensor-parallel-degree is 'two'; expected a "
       "whole number from 1 on"},
      {"--parallelism.tensor_parallel_degre 2",
       "line 1: --parallelism.tensor-parallel-degre is no flag of torchtitan "
       "0.3.0; did you mean --parallelism.tensor-parallel-degree?"},
      {"--parallelism.data_parallel_shard_degree 4 "
       "--parallelism.tensor_parallel_degree 4",
       "replicate 1, shard 4, context 1, tensor 4 and pipeline 1 on 8 devices; "
       "torchtitan needs their product to be the world size"},
      {"--parallelism.num_pp_microbatches 4",
       "line 1: --parallelism.num-pp-microbatches is '4'; expected "
       "--parallelism.pipeline_parallel_microbatch_size: the flags are those "
       "of torchtitan 0.3.0"},
      {"--training.global_batch_size 12",
       "--training.global_batch_size 12 does not divide by 8, "
       "--training.local_batch_size times 8 replicas"},
      {"--parallelism.pipeline_parallel_degree 2 --training.local_batch_size 5 "
       "--parallelism.pipeline_parallel_microbatch_size 2",
       "--training.local_batch_size 5 does not divide by "
       "--parallelism.pipeline_parallel_microbatch_size 2"},
      {"--parallelism.pipeline_parallel_degree 2 "
       "--parallelism.pipeline_parallel_schedule ZBVZeroBubble",
       "line 1: --parallelism.pipeline-parallel-schedule is 'ZBVZeroBubble'; "
       "expected one of 1F1B, GPipe, Interleaved1F1B, LoopedBFS, "
       "InterleavedZeroBubble"},
      {"--parallelism.pipeline_parallel_degree 2 "
       "--parallelism.pipeline_parallel_layers_per_stage 8",
       "32 layers, 1 fewer on the first stage and 1 on the last, make 5 stages "
       "on 2 ranks; torchtitan needs one stage a rank with 1F1B, and the same "
       "number of 2 or more with looped schedules"},
      {"--parallelism.pipeline_parallel_degree 2 "
       "--parallelism.module_fqns_per_model_part tok_embeddings,layers.0 norm",
       "line 1: --parallelism.module-fqns-per-model-part is "
       "'tok_embeddings,layers.0 norm'; expected 32 layers in lists, a "
       "multiple of the 2 ranks"},
      {"--compile.enable_async_tensor_parallel "
       "--parallelism.tensor_parallel_degree 2",
       "--compile.enable_async_tensor_parallel without --compile.enable; "
       "torchtitan needs it"},
      {"--parallelism.pipeline_parallel_degree 2 "
       "--training.no_disable_cuda_graphs",
       "a pipeline of 2 ranks with CUDA graphs; torchtitan needs "
       "--training.disable_cuda_graphs"},
      {"activation-checkpoint:memory-budget",
       "line 1: activation-checkpoint:memory-budget has no costs here; "
       "expected none, selective or full"},
      {"--tensor_parallel_degree 2",
       "line 1: --tensor-parallel-degree is no flag of torchtitan 0.3.0"},
  };
  for (const auto &[flags, fault] : bad)
    EXPECT_EQ(readOn(of8B + flags, 8).fault, fault) << flags;
  EXPECT_EQ(readOn("--module llama3", 8).fault,
            "--config is missing: it names the model");
  EXPECT_EQ(readOn(of8B, 0).fault,
            "the number of devices is not stated: give torchrun's "
            "--nproc-per-node and --nnodes, or --devices");
}

} // namespace
