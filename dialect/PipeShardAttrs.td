//===- PipeShardAttrs.td - What is sharded, and what is whole -*- tablegen -*-//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_PIPESHARDATTRS_TD
#define RONDO_DIALECT_PIPESHARDATTRS_TD

include "dialect/PipeAttrs.td"

def Pipe_ShardedAttr : AttrDef<PipeDialect, "Sharded"> {
  let mnemonic = "sharded";
  let summary = "state of a stage that its replicas have in shards";
  let description = [{
    `moments`: each replica keeps all weights and gradients, and a shard of the
    optimizer's moments; its step changes that shard of the weights, and the
    replicas gather the new ones (ZeRO-1). It goes with iterations that overlap.
    `optimizer`: each replica keeps a shard of the optimizer's state; weights are
    gathered once in an iteration, and gradients reduced once (ZeRO-1).
    `gradients`: also gradients are reduced as soon as the rank goes on to other
    chunks (ZeRO-2). `weights`: also weights are gathered for the tasks that
    need them and freed (ZeRO-3, FSDP). With `shards`, each group of that many
    consecutive replicas has the state once (default: all replicas).
  }];
  let parameters = (ins EnumParameter<Pipe_ShardedState>:$state,
      Pipe_OrElse<"0">:$shards);
  let assemblyFormat = "`<` custom<Word>($state) `` custom<ShardCount>($shards) `>`";
}

/// `2`, or `[2, 1]`; left out if empty.
def Pipe_CountsParameter : OptionalArrayRefParameter<"int64_t"> {
  let parser = "parseCounts($_parser)";
  let printer = "printCounts($_printer, $_self)";
}

def Pipe_GatherRuleParameter
    : DefaultValuedParameter<"GatherRule", "GatherRule::Nearest"> {
  let parser = "parseWord<::rondo::pipe::GatherRule>($_parser)";
  let printer = "printWord($_printer, $_self)";
}

def Pipe_GathersAttr : Pipe_StructAttr<"Gathers", "gathers"> {
  let summary = "where weights are gathered and gradients reduced";
  let description = [{
    Where stages are sharded: `weights` chunks of a rank are gathered at once,
    with those gathered ahead of their use; gradients of `gradients` chunks are
    not yet reduced. 0: for one micro-batch at a time. Either is one number, or
    a list of one for each rank; ranks that share state have the same. By default
    the numbers with the shortest time within the memory, and among these the
    least memory. `ahead` of the whole chunks may be gathered ahead of their use
    (default: all but the one in use).

    With `rule = unit`, a chunk is gathered for its forwards of a unit and again
    for its backwards, and its gradients are reduced at the unit's end, however
    many chunks are then whole. `unit` is how many micro-batches one has
    (default: that of `family<"blockwise">`).

    ```mlir
    gathers<weights = 2, gradients = 1>
    gathers<weights = [2, 2, 1, 1], gradients = 1>
    gathers<weights = 3, gradients = 1, ahead = 1>
    gathers<rule = unit>
    ```
  }];
  let parameters = (ins Pipe_CountsParameter:$weights,
      Pipe_CountsParameter:$gradients, Pipe_CountsParameter:$ahead,
      Pipe_GatherRuleParameter:$rule,
      Pipe_AtLeast<1, "unit",
                   "it is that of blockwise">:$unit);
  let genVerifyDecl = 1;
}

#endif // RONDO_DIALECT_PIPESHARDATTRS_TD
