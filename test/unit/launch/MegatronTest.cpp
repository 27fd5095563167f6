//===- MegatronTest.cpp - Runs as flags of Megatron-LM, and back ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Cases.h"
#include "Fields.h"

#include "formats/launch/MegatronArguments.h"

#include "gtest/gtest.h"

using namespace rondo;
using namespace rondo::launch;

namespace {

ReadOptions on(int64_t devices) {
  ReadOptions options;
  options.devices = devices;
  return options;
}

/// Flags of a small model, which the tests add to.
const std::string small =
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 "
    "--seq-length 2048 --max-position-embeddings 2048 --vocab-size 50000 "
    "--micro-batch-size 1 --bf16 ";

groups::Run readSmall(const std::string &flags, int64_t devices = 16) {
  const ReadRun read = readMegatronArguments(small + flags, on(devices));
  EXPECT_EQ(read.fault, "") << flags;
  return read.run;
}

std::string readFault(const std::string &text, int64_t devices = 16) {
  return readMegatronArguments(text, on(devices)).fault;
}

bool hasNote(const std::string &flags, const std::string &words) {
  const ReadRun read = readMegatronArguments(small + flags, on(16));
  EXPECT_EQ(read.fault, "");
  for (const std::string &note : read.notes)
    if (note.find(words) != std::string::npos)
      return true;
  return false;
}

TEST(MegatronArguments, WhatIsWrittenIsReadAgain) {
  for (const groups::Run &run : megatronRuns()) {
    SCOPED_TRACE(run.name);
    EXPECT_EQ(megatronFault(run), "");
    WrittenRun written = megatronArguments(run);
    written.command.program = {"pretrain_gpt.py"};
    launchByTorchrun(written.command, run.layout.devices(), 8);
    const ReadRun read =
        readMegatronArguments(written.command.text(), ReadOptions());
    EXPECT_EQ(read.fault, "");
    EXPECT_EQ(fieldsOf(read.run), fieldsOf(run));
  }
}

TEST(MegatronArguments, RefusedRunsAreNamed) {
  for (const RefusedRun &refused : megatronRefusals()) {
    SCOPED_TRACE(refused.run.name);
    const std::string fault = faultOf(refused.run, megatronFault(refused.run));
    EXPECT_NE(fault.find(refused.fault), std::string::npos) << fault;
  }
}

/// Rules that apply only in training, and runs without flags.
TEST(MegatronArguments, RunsThatFlagsCannotSayAreRefused) {
  groups::Run run = runOf("", mixtral(), {2, 1, 4, 2, 8}, 256);
  run.layout.sequenceParallel = false;
  EXPECT_EQ(megatronFault(run),
            "a tensor group of 2 with experts and without sequence "
            "parallelism; Megatron's layers with experts need "
            "--sequence-parallel");
  run = runOf("", llama8B(), {2, 1, 4, 2, 8}, 256);
  run.layout.recompute = groups::Recompute::PerOperation;
  EXPECT_NE(megatronFault(run).find("by operation"), std::string::npos);
  run.layout.recompute = groups::Recompute::Layers;
  run.layout.recomputedLayers = 12;
  EXPECT_EQ(megatronFault(run),
            "12 layers of the model are recomputed; --recompute-num-layers is "
            "the same number in each of the 8 stages");
  run.layout.recompute = groups::Recompute::None;
  run.model.valueWidth = 64;
  EXPECT_NE(megatronFault(run).find("128 columns for queries and 64"),
            std::string::npos);
  run = runOf("", llama8B(), {2, 1, 4, 2, 8}, 256);
  run.layout.isBalanced = true;
  EXPECT_NE(megatronFault(run).find("are cut by costs"), std::string::npos);
  run.layout.isBalanced = false;
  run.layout.globalBatch = 24;
  EXPECT_EQ(megatronFault(run),
            "an iteration has 3 micro-batches; Megatron-LM's interleaved "
            "schedule needs at least as many as there are ranks, 4");
}

TEST(MegatronArguments, ConnectionsFollowTheGroups) {
  auto connections = [](const groups::Run &run) {
    const auto &environment = megatronArguments(run).command.environment;
    return environment.empty() ? "" : environment[0].second;
  };
  groups::Run run = runOf("", llama8B(), {1, 1, 4, 2, 8}, 256);
  EXPECT_EQ(connections(run), "");
  run.layout.tensor = 2;
  EXPECT_EQ(connections(run), "1");
  run.layout.zero = 2;
  EXPECT_EQ(connections(run), "8");
}

TEST(MegatronArguments, DefaultsAreMegatrons) {
  const groups::Run run = readSmall("");
  EXPECT_EQ(run.layout.tensor, 1);
  EXPECT_EQ(run.layout.data, 16);
  EXPECT_EQ(run.layout.globalBatch, 16);
  EXPECT_EQ(run.layout.zero, 0);
  EXPECT_FALSE(run.execution.overlapsData);
  EXPECT_EQ(run.model.ffn, 4096);
  EXPECT_EQ(run.model.queryWidth, 64);
  EXPECT_TRUE(run.model.isTied);
  EXPECT_TRUE(run.model.hasDropout);
  EXPECT_EQ(readSmall("--swiglu").model.ffn, 2688);
  EXPECT_EQ(readSmall("--fp8-format hybrid").execution.precision,
            groups::Precision::Fp8);
  EXPECT_EQ(readSmall("--num-experts 8").model.experts->perToken, 2);
  EXPECT_EQ(readSmall("--use-distributed-optimizer").layout.zero, 1);
}

TEST(MegatronArguments, CutsOfEveryFlag) {
  using Layers = std::vector<int64_t>;
  EXPECT_EQ(readSmall("--pipeline-model-parallel-size 2 "
                      "--num-layers-per-virtual-pipeline-stage 2")
                .layout.chunks,
            2);
  EXPECT_EQ(readSmall("--pipeline-model-parallel-size 4 "
                      "--pipeline-model-parallel-layout 'Ettt|tt|tt|tL'")
                .stageLayers,
            (Layers{3, 2, 2, 1}));
  EXPECT_EQ(readSmall("--pipeline-model-parallel-size 4 "
                      "--pipeline-model-parallel-layout 'E(tt|)*3ttL'")
                .stageLayers,
            Layers());
  EXPECT_EQ(readSmall("--pipeline-model-parallel-size 4 "
                      "--decoder-first-pipeline-num-layers 1 "
                      "--decoder-last-pipeline-num-layers 3")
                .stageLayers,
            (Layers{1, 2, 2, 3}));
  EXPECT_EQ(readSmall("--pipeline-model-parallel-size 2 "
                      "--num-virtual-stages-per-pipeline-rank 2 "
                      "--decoder-last-pipeline-num-layers 2")
                .stageLayers,
            (Layers{3, 1, 3, 1}));
  const ReadRun ends = readMegatronArguments(
      small + "--num-layers 7 --pipeline-model-parallel-size 4 "
              "--account-for-embedding-in-pipeline-split",
      on(16));
  EXPECT_EQ(ends.run.stageLayers, (Layers{1, 2, 2, 2}));
}

TEST(MegatronArguments, PatternsOfLayers) {
  const std::string experts = "--num-experts 8 --moe-layer-freq ";
  EXPECT_EQ(readSmall(experts + "([0]*3+[1]*5)").model.experts->denseLayers, 3);
  EXPECT_EQ(readSmall(experts + "'[0,0]+[1]*6'").model.experts->denseLayers, 2);
  EXPECT_EQ(readSmall(experts + "[1]*8").model.experts->denseLayers, 0);
  EXPECT_EQ(
      readSmall("--window-size 127,0 --window-attn-skip-freq ([1,1,1,0])*2")
          .model.windowedLayers,
      6);
  EXPECT_EQ(readSmall("--window-size 127,0 --window-attn-skip-freq 4")
                .model.windowedLayers,
            6);
}

TEST(MegatronArguments, ScriptsAreRead) {
  const ReadRun read = readMegatronArguments(
      "#!/bin/bash\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\nTP=4\n"
      "NODES=${NODES:-16}\n"
      "LAUNCH=(\n  --nproc_per_node 8\n  --nnodes $NODES\n)\n"
      "MODEL=(\n  --num-layers 80 # of 70B\n  --hidden-size 8192\n"
      "  --num-attention-heads 64 --group-query-attention\n"
      "  --num-query-groups 8 --seq-length 8192 --swiglu\n"
      "  --ffn-hidden-size 28672 --vocab-size 128256\n)\n"
      "if [ -n \"$FAST\" ]; then\n  MODEL+=(--lr 1e-4)\nfi\n"
      "torchrun ${LAUNCH[@]} pretrain_gpt.py ${MODEL[@]} \\\n"
      "  --tensor-model-parallel-size $TP --sequence-parallel \\\n"
      "  --pipeline-model-parallel-size=4 \\\n"
      "  --num-layers-per-virtual-pipeline-stage 4 --bf16 \\\n"
      "  --context-parallel-size 2 --use-distributed-optimizer \\\n"
      "  --micro-batch-size 1 --global-batch-size 1024 \"$@\" 2>&1 | tee log\n",
      ReadOptions());
  EXPECT_EQ(read.fault, "");
  EXPECT_EQ(read.run.layout.text(), "tp 4, cp 2, pp 4 x 5, dp 4");
  EXPECT_EQ(read.run.layout.zero, 1);
  ASSERT_FALSE(read.notes.empty());
  EXPECT_EQ(read.notes.back(), "not read: --lr");
}

/// Flags, and the fault with the value and the rule.
const std::pair<const char *, const char *> bad[] = {
    {"--tensor-model-parallel-size four",
     "line 1: --tensor-model-parallel-size is 'four'; expected a whole "
     "number from 1 on"},
    {"--pipeline-model-parallel-size",
     "line 1: --pipeline-model-parallel-size has no value; expected a whole "
     "number from 1 on"},
    {"--context-parallel-size 0",
     "line 1: --context-parallel-size is '0'; expected a whole number from "
     "1 on"},
    {"--tensor-model-parallel-size $TP",
     "line 1: --tensor-model-parallel-size is '$TP'; expected a whole number "
     "from 1 on"},
    {"--tensor-model-paralel-size 4",
     "line 1: --tensor-model-paralel-size is no flag of Megatron; did you "
     "mean --tensor-model-parallel-size?"},
    {"--tensor-model-parallel-size 3",
     "16 devices do not divide by tensor 3, context 1 and pipeline 1; "
     "Megatron needs world size % (tp * cp * pp) = 0"},
    {"--swiglu yes",
     "line 1: --swiglu is 'yes'; expected no value: the flag is a switch"},
    {"--fp16", "--fp16 and --bf16; Megatron takes one"},
    {"--fp8-format e5m2",
     "line 1: --fp8-format is 'e5m2'; expected one of e4m3, hybrid"},
    {"--recompute-granularity full",
     "--recompute-granularity full needs --recompute-method and "
     "--recompute-num-layers"},
    {"--recompute-granularity selective --recompute-num-layers 1",
     "--recompute-granularity selective with --recompute-method or "
     "--recompute-num-layers; Megatron takes them with full"},
    {"--recompute-granularity selective --recompute-modules atention",
     "line 1: --recompute-modules is 'atention'; expected modules of "
     "core_attn, moe_act, layernorm, mla_up_proj, mlp, moe, shared_experts"},
    {"--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-"
     "rank 2 --num-layers-per-virtual-pipeline-stage 2",
     "more than one of --num-layers-per-virtual-pipeline-stage, "
     "--num-virtual-stages-per-pipeline-rank and "
     "--pipeline-model-parallel-layout; Megatron takes one"},
    {"--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-"
     "stage 3",
     "line 1: --num-layers-per-virtual-pipeline-stage is '3'; expected a "
     "divisor of the 8 layers on 2 ranks"},
    {"--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "
     "'Ettt|tttL'",
     "line 1: --pipeline-model-parallel-layout is 'Ettt|tttL'; expected 8 t "
     "and 0 m, as --num-layers and --mtp-num-layers say; there are 6 and 0"},
    {"--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "
     "'Et*8|L|'",
     "line 1: --pipeline-model-parallel-layout is 'Et*8|L|'; expected "
     "stages in a multiple of the 2 pipeline ranks; there are 3"},
    {"--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "
     "'tttt|ttttL'",
     "line 1: --pipeline-model-parallel-layout is 'tttt|ttttL'; expected E "
     "first and L last, each once"},
    {"--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 3",
     "8 layers without 3 on the first rank and 0 on the last do not divide "
     "into 3 ranks with 1 chunk each (--decoder-first-pipeline-num-layers, "
     "--decoder-last-pipeline-num-layers)"},
    {"--use-megatron-fsdp",
     "--use-megatron-fsdp without --ckpt-format fsdp_dtensor; Megatron needs "
     "it"},
    {"--overlap-param-gather",
     "--overlap-param-gather needs --overlap-grad-reduce and "
     "--use-distributed-optimizer or --use-megatron-fsdp"},
    {"--num-experts 8 --moe-layer-freq 2",
     "line 1: --moe-layer-freq is '2'; expected 1, or a list such as "
     "([0]*3+[1]*58) with one number a layer, the 0 first: layers without "
     "experts come first in the costs"},
    {"--use-megatron-fsdp --ckpt-format fsdp_dtensor --optimizer muon",
     "line 1: --optimizer is 'muon'; expected adam or sgd, as "
     "--use-megatron-fsdp needs"},
    {"--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-"
     "rank 2 --no-overlap-p2p-communication",
     "--no-overlap-p2p-communication with 2 chunks on each of 2 ranks; "
     "Megatron needs 3 ranks or more"},
    {"--pipeline-model-parallel-size 16",
     "16 ranks with 1 chunk each have more stages than 8 layers with "
     "embedding and head"},
    {"--tensor-model-parallel-size 2000000000",
     "line 1: --tensor-model-parallel-size is '2000000000'; expected at most "
     "1000000000"},
    {"--hybrid-layer-pattern M*M*",
     "line 1: --hybrid-layer-pattern is 'M*M*'; expected --num-layers of a "
     "model with attention in each"},
    {"--window-size many",
     "line 1: --window-size is 'many'; expected two whole numbers, such as "
     "4095,0"},
};

TEST(MegatronArguments, BadFlagsAreNamed) {
  for (const auto &[flags, fault] : bad)
    EXPECT_EQ(readFault(small + flags), fault) << flags;
  EXPECT_EQ(readFault("CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun x.py " + small +
                      "--use-megatron-fsdp --ckpt-format fsdp_dtensor"),
            "CUDA_DEVICE_MAX_CONNECTIONS is 1; Megatron's FSDP needs more, or "
            "no value");
  EXPECT_EQ(readFault("--hidden-size 8"),
            "--num-layers is missing; Megatron needs it");
  EXPECT_EQ(readFault(small, 0),
            "the number of devices is not stated: give torchrun's "
            "--nproc-per-node and --nnodes, or --devices");
  EXPECT_EQ(readFault("--num-layers 8 --hidden-size 8 --num-attention-heads 2 "
                      "--seq-length 8"),
            "--vocab-size is missing, and the tokenizer's size is not in the "
            "flags; give it by --vocab");
}

TEST(MegatronArguments, FlagsWithCostsThatAreNotReadAreNamed) {
  EXPECT_TRUE(hasNote("--cuda-graph-impl local",
                      "--cuda-graph-impl local is not in the costs: launches "
                      "of kernels"));
  EXPECT_FALSE(hasNote("--cp-comm-type p2p", "--cp-comm-type"));
  EXPECT_TRUE(hasNote("--cp-comm-type a2a", "messages of context groups"));
  EXPECT_TRUE(hasNote("--lr 1e-4 --data-path x --train-iters 10",
                      "not read: --lr, --data-path, --train-iters"));
  EXPECT_TRUE(hasNote("--sequence-parallel", "no effect with a tensor group"));
  EXPECT_TRUE(hasNote("--num-experts 8 --tensor-model-parallel-size 2",
                      "experts are cut into 2"));
  EXPECT_TRUE(hasNote("--recompute-granularity selective "
                      "--recompute-modules mlp core_attn",
                      "the costs are those of core_attn alone"));
}

} // namespace
