//===- PipeShardOps.td - What moves sharded state ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_PIPESHARDOPS_TD
#define RONDO_DIALECT_PIPESHARDOPS_TD

include "dialect/PipeScheduleOps.td"

/// An action that moves the state of a sharded stage. Its number counts those of
/// its kind and stage in an iteration.
class Pipe_MoveOp<string mnemonic, string kind>
    : Pipe_StepActionOp<mnemonic, kind,
          [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
           Pipe_ReplicaOpInterface]> {
  let arguments = (ins FlatSymbolRefAttr:$stage, AffineMapAttr:$map,
      Variadic<Index>:$indices, OptionalAttr<I64Attr>:$replica);
  let assemblyFormat = Pipe_InOrder<"", [{
    custom<Replica>($stage, $replica) `` custom<Microbatch>($map, $indices) attr-dict
  }]>.format;
  let extraClassDefinition = !strconcat(actionKind, verifyStageUse);
}

def Pipe_UnshardOp : Pipe_MoveOp<"unshard", "Unshard"> {
  let summary = "gather the weights of a sharded stage";
  let description = [{
    Each replica of the stage's group has a shard of them. Does not wait: a task of
    the stage does. The number counts a stage's gathers in an iteration, from 0.

    ```mlir
    pipe.unshard @s0[0]
    ```
  }];
}

def Pipe_ReshardOp : Pipe_MoveOp<"reshard", "Reshard"> {
  let summary = "free the weights that a sharded stage has gathered";
  let description = [{
    Comes after the last task that reads what the `pipe.unshard` of the same
    number has gathered.

    ```mlir
    pipe.reshard @s0[0]
    ```
  }];
}

def Pipe_ReduceGradOp : Pipe_MoveOp<"reduce_grad", "ReduceGrad"> {
  let summary = "add the gradients of a sharded stage's replicas";
  let description = [{
    Adds the gradients that the replicas of the stage's group have made since the
    last one; each replica keeps its shard of the sum. Does not wait: the stage's
    step does. The number counts those of a stage in an iteration, from 0.

    ```mlir
    pipe.reduce_grad @s0[0]
    ```
  }];
}

#endif // RONDO_DIALECT_PIPESHARDOPS_TD
