//===- PipeShardAttrs.td - What is sharded, and what is whole -*- tablegen -*-//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_PIPESHARDATTRS_TD
#define RONDO_DIALECT_PIPESHARDATTRS_TD

include "dialect/PipeAttrs.td"

def Pipe_ShardedAttr : AttrDef<PipeDialect, "Sharded"> {
  let mnemonic = "sharded";
  let summary = "what of a stage's state its homes have in pieces";
  let description = [{
    `optimizer`: each home keeps a piece of the optimizer's state; weights are
    gathered once in an iteration, and gradients reduced once (ZeRO-1).
    `gradients`: also gradients are reduced as soon as the rank goes on to other
    chunks (ZeRO-2). `weights`: also weights are gathered for the tasks that
    need them and freed (ZeRO-3, FSDP). With `pieces`, each group of that many
    consecutive homes has the state once (default: all homes).
  }];
  let parameters = (ins EnumParameter<Pipe_ShardedState>:$state,
      Pipe_OrElse<"0">:$pieces);
  let assemblyFormat =
      "`<` custom<Word>($state) (`,` `pieces` `=` $pieces^)? `>`";
}

def Pipe_GathersAttr : Pipe_StructAttr<"Gathers", "gathers"> {
  let summary = "how many chunks of a rank are whole at once";
  let description = [{
    Where stages are sharded: `weights` chunks of a rank are gathered at once,
    with those gathered ahead of their use; gradients of `gradients` chunks are
    not yet reduced. 0: for one micro-batch at a time. By default the numbers
    with the shortest time within the memory, and among these the least memory.
  }];
  let parameters = (ins Pipe_OrElse<"-1">:$weights,
      Pipe_OrElse<"-1">:$gradients);
}

#endif // RONDO_DIALECT_PIPESHARDATTRS_TD
