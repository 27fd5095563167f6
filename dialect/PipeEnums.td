//===- PipeEnums.td - Keywords of the pipe dialect ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_PIPEENUMS_TD
#define RONDO_DIALECT_PIPEENUMS_TD

include "dialect/PipeDialect.td"
include "mlir/IR/EnumAttr.td"

class Pipe_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::rondo::pipe";
  let genSpecializedAttr = 0;
}

/// The same order as rondo::runtime::LayerKind.
def Pipe_LayerKind : Pipe_Enum<"LayerKind", "kind of a layer", [
  I32EnumAttrCase<"Embedding", 0, "embedding">,
  I32EnumAttrCase<"Block", 1, "block">,
  I32EnumAttrCase<"Head", 2, "head">,
  I32EnumAttrCase<"Synthetic", 3, "synthetic">,
  I32EnumAttrCase<"Custom", 4, "custom">
]>;

/// The same order as rondo::runtime::LayerData.
def Pipe_LayerData : Pipe_Enum<"LayerData", "data that a layer reads", [
  I32EnumAttrCase<"None", 0, "none">,
  I32EnumAttrCase<"Tokens", 1, "tokens">,
  I32EnumAttrCase<"Targets", 2, "targets">
]>;

/// The same order as rondo::runtime::StreamType.
def Pipe_StreamType : Pipe_Enum<"StreamType", "the type of a stream's numbers", [
  I32EnumAttrCase<"Fp32", 0, "fp32">,
  I32EnumAttrCase<"Int32", 1, "int32">,
  I32EnumAttrCase<"Uint8", 2, "uint8">
]>;

/// The same order as rondo::runtime::ReadBy.
def Pipe_ReadBy : Pipe_Enum<"ReadBy", "the tasks that read a part of what F saves", [
  I32EnumAttrCase<"Both", 0, "both">,
  I32EnumAttrCase<"InputGrad", 1, "input_grad">,
  I32EnumAttrCase<"WeightGrad", 2, "weight_grad">
]>;

/// The same order as rondo::runtime::Target.
def Pipe_Target : Pipe_Enum<"Target", "devices of an executable", [
  I32EnumAttrCase<"Cpu", 0, "cpu">,
  I32EnumAttrCase<"Cuda", 1, "cuda">
]>;

/// The same order as rondo::runtime::DType.
def Pipe_DType : Pipe_Enum<"DType", "number type of activations", [
  I32EnumAttrCase<"Fp32", 0, "fp32">,
  I32EnumAttrCase<"Bf16", 1, "bf16">
]>;

/// The same order as rondo::Protocol.
def Pipe_Protocol : Pipe_Enum<"Protocol", "how a channel hands over messages", [
  I32EnumAttrCase<"Eager", 0, "eager">,
  I32EnumAttrCase<"Rendezvous", 1, "rendezvous">
]>;

def Pipe_Accumulate : Pipe_Enum<"Accumulate",
    "the order in which a stage adds up its gradients", [
  I32EnumAttrCase<"IndexOrder", 0, "index_order">,
  I32EnumAttrCase<"ScheduleOrder", 1, "schedule_order">
]>;

/// rondo::OrderClass, without its word for any order on any stage:
/// `accumulate(schedule_order)` allows that.
def Pipe_Orders : Pipe_Enum<"Orders",
    "which orders of micro-batches a search may choose if these differ", [
  I32EnumAttrCase<"Index", 0, "index">, I32EnumAttrCase<"Sums", 1, "sums">,
  I32EnumAttrCase<"Perm", 2, "perm">, I32EnumAttrCase<"WPerm", 3, "wperm">
]>;

def Pipe_Norm : Pipe_Enum<"Norm", "norm that steps await to clip gradients", [
  I32EnumAttrCase<"Global", 0, "global">,
  I32EnumAttrCase<"None", 1, "none">
]>;

/// The list of kinds/Optimizers.h.
def Pipe_Optimizer : Pipe_Enum<"Optimizer", "optimizer that memory is planned for", [
  I32EnumAttrCase<"AdamW", 0, "adamw">,
  I32EnumAttrCase<"Sgd", 1, "sgd">,
  I32EnumAttrCase<"PlainSgd", 2, "plain_sgd">
]>;

def Pipe_Clip : Pipe_Enum<"Clip",
    "norm by which gradients are clipped if iterations overlap", [
  I32EnumAttrCase<"Stage", 0, "stage">,
  I32EnumAttrCase<"Global", 1, "global">
]>;

/// The same order as rondo::Objective.
def Pipe_Objective : Pipe_Enum<"Objective", "objective of a search", [
  I32EnumAttrCase<"Makespan", 0, "makespan">,
  I32EnumAttrCase<"Span", 1, "span">
]>;

/// The same order as rondo::SearchStop.
def Pipe_SearchStop : Pipe_Enum<"SearchStop", "why a search ended", [
  I32EnumAttrCase<"Exhausted", 0, "exhausted">,
  I32EnumAttrCase<"Optimal", 1, "optimal">,
  I32EnumAttrCase<"Time", 2, "time">,
  I32EnumAttrCase<"Interrupted", 3, "interrupted">
]>;

/// The same order as rondo::runtime::ProgramKind.
def Pipe_ProgramKind : Pipe_Enum<"ProgramKind", "purpose of a program", [
  I32EnumAttrCase<"Sequential", 0, "sequential">,
  I32EnumAttrCase<"Pipeline", 1, "pipeline">,
  I32EnumAttrCase<"Evaluation", 2, "evaluation">
]>;

/// The list of kinds/Collectives.h.
def Pipe_CollectiveKind : Pipe_Enum<"CollectiveKind",
    "kind of a collective", [
  I32EnumAttrCase<"GatherWeights", 0, "gather_weights">,
  I32EnumAttrCase<"ScatterGradients", 1, "scatter_gradients">,
  I32EnumAttrCase<"ReplicaGradients", 2, "replica_gradients">,
  I32EnumAttrCase<"TiedGradients", 3, "tied_gradients">,
  I32EnumAttrCase<"GradientNorm", 4, "gradient_norm">,
  I32EnumAttrCase<"GatherUpdates", 5, "gather_updates">
]>;

/// The list of kinds/Shards.h, without None, and the moments alone.
def Pipe_ShardedState : Pipe_Enum<"ShardedState",
    "state of a stage that is sharded", [
  I32EnumAttrCase<"Optimizer", 1, "optimizer">,
  I32EnumAttrCase<"Gradients", 2, "gradients">,
  I32EnumAttrCase<"Weights", 3, "weights">,
  I32EnumAttrCase<"Moments", 4, "moments">
]>;

/// Direction of the copies that may use a link to the host at the same time.
def Pipe_Duplex : Pipe_Enum<"Duplex", "how copies share a link to the host", [
  I32EnumAttrCase<"Full", 0, "full">,
  I32EnumAttrCase<"Half", 1, "half">
]>;

/// The same order as rondo::LoadBefore.
def Pipe_LoadBefore : Pipe_Enum<"LoadBefore",
    "the task that needs what a load copies back", [
  I32EnumAttrCase<"InputGrad", 0, "input_grad">,
  I32EnumAttrCase<"WeightGrad", 1, "weight_grad">,
  I32EnumAttrCase<"Recompute", 2, "recompute">
]>;

def Pipe_GatherRule : Pipe_Enum<"GatherRule", "rule by which chunks are gathered", [
  I32EnumAttrCase<"Nearest", 0, "nearest">,
  I32EnumAttrCase<"Unit", 1, "unit">
]>;

/// The list of kinds/Actions.h.
def Pipe_Message : Pipe_Enum<"Message", "content of a message", [
  I32EnumAttrCase<"Activation", 0, "activation">,
  I32EnumAttrCase<"Gradient", 1, "gradient">,
  I32EnumAttrCase<"Recomputed", 2, "recomputed">
]>;

/// The list of kinds/Buffers.h.
def Pipe_Buffer : Pipe_Enum<"Buffer", "purpose of a buffer", [
  I32EnumAttrCase<"Weights", 0, "weights">,
  I32EnumAttrCase<"Gradients", 1, "gradients">,
  I32EnumAttrCase<"Moments", 2, "moments">,
  I32EnumAttrCase<"WeightChanges", 3, "weight_changes">,
  I32EnumAttrCase<"Control", 4, "control">,
  I32EnumAttrCase<"Data", 5, "data">,
  I32EnumAttrCase<"Workspace", 6, "workspace">,
  I32EnumAttrCase<"Input", 7, "input">,
  I32EnumAttrCase<"Output", 8, "output">,
  I32EnumAttrCase<"OutputGrad", 9, "output_grad">,
  I32EnumAttrCase<"InputGrad", 10, "input_grad">,
  I32EnumAttrCase<"SavedForInputGrad", 11, "saved_for_input_grad">,
  I32EnumAttrCase<"SavedForWeightGrad", 12, "saved_for_weight_grad">,
  I32EnumAttrCase<"Checkpoints", 13, "checkpoints">,
  I32EnumAttrCase<"RecomputedForInputGrad", 14, "recomputed_for_input_grad">,
  I32EnumAttrCase<"RecomputedForWeightGrad", 15, "recomputed_for_weight_grad">,
  I32EnumAttrCase<"RecomputedInput", 16, "recomputed_input">,
  I32EnumAttrCase<"RecomputedOutput", 17, "recomputed_output">,
  I32EnumAttrCase<"GatheredWeights", 18, "gathered_weights">,
  I32EnumAttrCase<"UnreducedGradients", 19, "unreduced_gradients">,
  I32EnumAttrCase<"KeptForWeightGrad", 20, "kept_for_weight_grad">,
  I32EnumAttrCase<"OffloadedForInputGrad", 21, "offloaded_for_input_grad">,
  I32EnumAttrCase<"OffloadedForWeightGrad", 22, "offloaded_for_weight_grad">,
  I32EnumAttrCase<"LoadedForInputGrad", 23, "loaded_for_input_grad">,
  I32EnumAttrCase<"LoadedForWeightGrad", 24, "loaded_for_weight_grad">,
  I32EnumAttrCase<"OnHost", 25, "on_host">
]>;

/// The lists of schedule/model/VersionPolicy.h.
def Pipe_ForwardWeights : Pipe_Enum<"ForwardWeights", "weights that F reads", [
  I32EnumAttrCase<"Live", 0, "live">,
  I32EnumAttrCase<"Vertical", 1, "vertical">,
  I32EnumAttrCase<"Minibatch", 2, "minibatch">,
  I32EnumAttrCase<"Stashed", 3, "stashed">
]>;
def Pipe_BackwardWeights : Pipe_Enum<"BackwardWeights", "weights that I, W and B read", [
  I32EnumAttrCase<"Stashed", 0, "stashed">,
  I32EnumAttrCase<"Committed", 1, "committed">,
  I32EnumAttrCase<"Live", 2, "live">,
  I32EnumAttrCase<"Extrapolated", 3, "extrapolated">
]>;
def Pipe_BackwardActivations
    : Pipe_Enum<"BackwardActivations", "activations that I, W and B use", [
  I32EnumAttrCase<"Graph", 0, "graph">,
  I32EnumAttrCase<"Recompute", 1, "recompute">,
  I32EnumAttrCase<"Stashed", 2, "stashed">,
  I32EnumAttrCase<"Live", 3, "live">,
  I32EnumAttrCase<"Extrapolated", 4, "extrapolated">
]>;

#endif // RONDO_DIALECT_PIPEENUMS_TD
