//===- MegatronFlags.h - Flags of Megatron-LM that are not read -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_LAUNCH_MEGATRONFLAGS_H
#define RONDO_FORMATS_LAUNCH_MEGATRONFLAGS_H

#include "llvm/ADT/StringRef.h"

namespace rondo::launch {

struct FlagMeaning {
  llvm::StringRef name;
  llvm::StringRef meaning;
  /// The value with which nothing changes; empty: none.
  llvm::StringRef harmless = {};
};

/// The flag describes a model that groups::Transformer cannot; `meaning` is
/// what is read instead.
inline constexpr FlagMeaning otherModelFlags[] = {
    {"--hybrid-layer-pattern",
     "--num-layers of a model with attention in each"},
    {"--hybrid-override-pattern",
     "--num-layers of a model with attention in each"},
    {"--heterogeneous-layers-config-path",
     "--num-layers of a model whose layers are alike"},
    {"--heterogeneous-layers-config-encoded-json",
     "--num-layers of a model whose layers are alike"},
    {"--encoder-num-layers", "--num-layers of a model with a decoder alone"},
    {"--decoder-num-layers", "--num-layers of a model with a decoder alone"},
    {"--experimental-attention-variant", "attention of one kind"},
    {"--yaml-cfg", "flags: a configuration in YAML is not read"},
    {"--use-checkpoint-args", "sizes as flags: a checkpoint is not read"},
};

/// The flag changes time or memory, and the cost model does not have it.
inline constexpr FlagMeaning costFlags[] = {
    {"--activation-offload-fraction", "memory of activations"},
    {"--attention-output-gate", "a product in attention"},
    {"--cp-comm-type", "messages of context groups", "p2p"},
    {"--cross-entropy-loss-fusion", "kernels of the loss"},
    {"--cuda-graph-impl", "launches of kernels", "none"},
    {"--defer-embedding-wgrad-compute", "the order of weight gradients"},
    {"--delay-wgrad-compute", "the order of weight gradients"},
    {"--distribute-saved-activations", "memory of recomputed layers"},
    {"--enable-cuda-graph", "launches of kernels"},
    {"--enable-full-sharding-in-hsdp", "which replicas share state"},
    {"--exp-avg-dtype", "bytes of the optimizer's state", "fp32"},
    {"--exp-avg-sq-dtype", "bytes of the optimizer's state", "fp32"},
    {"--expert-tensor-parallel-num-weight-shards", "shards of experts"},
    {"--external-cuda-graph", "launches of kernels"},
    {"--fine-grained-activation-offloading", "memory of activations"},
    {"--first-last-layers-bf16", "the precision of some layers"},
    {"--fp4-param-gather", "bytes of gathered weights"},
    {"--fp8-param-gather", "bytes of gathered weights"},
    {"--fsdp-double-buffer", "memory of gathered weights"},
    {"--hierarchical-context-parallel-sizes", "messages of context groups"},
    {"--hybrid-context-parallel", "messages of context groups"},
    {"--main-grads-dtype", "bytes of gradients", "fp32"},
    {"--main-params-dtype", "bytes of the optimizer's state", "fp32"},
    {"--megatron-fsdp-grad-comm-dtype", "bytes of gradients", "auto"},
    {"--megatron-fsdp-main-grads-dtype", "bytes of gradients", "auto"},
    {"--microbatch-group-size-per-virtual-pipeline-stage",
     "the order of micro-batches"},
    {"--mla-down-proj-fusion", "products of latent attention"},
    {"--moe-enable-deepep", "messages to experts"},
    {"--moe-expert-capacity-factor", "tokens of experts"},
    {"--moe-flex-dispatcher-backend", "messages to experts"},
    {"--moe-latent-size", "widths of experts"},
    {"--moe-layer-recompute", "recomputed layers of experts"},
    {"--moe-pad-expert-input-to-capacity", "tokens of experts"},
    {"--moe-paged-stash", "memory of activations"},
    {"--moe-shared-expert-overlap", "when shared experts run"},
    {"--moe-use-upcycling", "what the model begins with"},
    {"--mtp-standalone", "the stage of predictions"},
    {"--mtp-use-repeated-layer", "weights of predictions"},
    {"--no-fp8-wgrad", "the precision of weight gradients"},
    {"--num-distributed-optimizer-instances", "which replicas share state",
     "1"},
    {"--optimizer", "bytes of the optimizer's state", "adam"},
    {"--optimizer-cpu-offload", "memory and time of the optimizer"},
    {"--outer-dp-sharding-strategy", "which replicas share state", "no_shard"},
    {"--overlap-p2p-communication-warmup-flush", "messages between stages"},
    {"--overlap-param-gather-with-optimizer-step", "when weights are gathered"},
    {"--rampup-batch-size", "the batch of early steps"},
    {"--step-batch-size-schedule", "the batch of each step"},
    {"--tensor-parallel-num-weight-shards", "shards of weights"},
    {"--transformer-impl", "kernels", "transformer_engine"},
    {"--use-nccl-ub", "messages of replicas"},
    {"--use-precision-aware-optimizer", "bytes of the optimizer's state"},
};

/// Flags without costs: those that megatronArguments() writes too, and names
/// close to those of others.
inline constexpr llvm::StringRef plainFlags[] = {
    "--decoder-seq-length",  "--attention-dropout",
    "--disable-bias-linear", "--max-position-embeddings",
    "--normalization",       "--position-embedding-type",
    "--vocab-file",
};

} // namespace rondo::launch

#endif // RONDO_FORMATS_LAUNCH_MEGATRONFLAGS_H
