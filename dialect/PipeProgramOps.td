//===- PipeProgramOps.td - A schedule with messages and memory -*- tablegen -*-//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_PIPEPROGRAMOPS_TD
#define RONDO_DIALECT_PIPEPROGRAMOPS_TD

include "dialect/PipeShardOps.td"

def Pipe_ProgramOp : Pipe_Op<"program", [Symbol, SymbolTable, NoTerminator,
    SingleBlock, NoRegionArguments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "actions and memory of every rank";
  let description = [{
    Code is emitted from this: tasks, receives, sends, collectives and optimizer
    steps of every rank in order, and a slot for every buffer. `sequential`: one
    rank runs all stages, the reference; `pipeline`: the schedule; `evaluation`:
    forward only. `arena` gives the bytes that each rank allocates; absent until
    memory is planned. `host_arena` gives those on its host, if stages copy
    activations there.

    Pools and collectives have names: `@p0`, `@p1` and so on, `@c0`, `@c1` and so
    on where passes write them. `pipe-verify-lowered` checks that sends meet
    receives, that no ranks wait for each other in a cycle, and that buffers are
    written before they are read.

    ```mlir
    pipe.program @main of @mine pipeline arena [4096, 8192] {
      pipe.collective @c0 gradient_norm [@s0, @s1]
      pipe.pool @p0 on 1 <offset = 0, slot_bytes = 1024, slots = 3>
      pipe.place input @s1 in @p0 [0, 1, 2]
      pipe.rank 1 {
        pipe.for %i = 0 to 8 {
          pipe.recv activation @s0[%i]
          pipe.forward @s1[%i]
          pipe.backward @s1[%i]
          pipe.send gradient @s1[%i]
        }
        pipe.issue @c0
        pipe.await @c0
        pipe.step @s1
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$schedule,
      EnumProp<Pipe_ProgramKind>:$kind, OptionalAttr<DenseI64ArrayAttr>:$arena,
      OptionalAttr<DenseI64ArrayAttr>:$host_arena);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = Pipe_InOrder<"of, arena, host_arena, {...}", [{
    $sym_name `of` $schedule custom<Word>($kind) (`arena` $arena^)?
    (`host_arena` $host_arena^)? attr-dict-with-keyword
    $body
  }], ["of"]>.format;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Null if there is none of that name; the verifier has then reported it.
    ScheduleOp lookupSchedule();
    PlanOp lookupPlan();
    ::llvm::SmallVector<RankOp, 0> getRanks();
    ::llvm::SmallVector<CollectiveOp, 0> getCollectives();
    ::llvm::SmallVector<PoolOp, 0> getPools();
    ::llvm::SmallVector<PlaceOp, 0> getPlaces();
  }];
}

def Pipe_ExecutableOp : Pipe_Op<"executable", [Symbol,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "schedules over one state";
  let description = [{
    The programs of these schedules run over the same weights, in arenas as large
    as the largest of them needs, so an executable can switch between them from
    one iteration to the next. Their plans cut one model on one cluster into the
    same stages on the same ranks, for the same target, and take the same number
    of samples per iteration; micro-batches may differ in number and size.

    A schedule that no executable names is an executable of its own.

    With `adaptive`, `pipe-choose-candidates` adds schedules to the one that is
    named, for other conditions of the network, and the program switches between
    them while it trains.

    ```mlir
    pipe.executable @train of [@gpipe, @one_f_one_b]
    pipe.executable @follow of [@zero_bubble] adaptive<candidates = 4>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      Pipe_Names<"schedules">:$schedules,
      OptionalAttr<Pipe_AdaptiveAttr>:$adaptive);
  let assemblyFormat = Pipe_InOrder<"of, adaptive", [{
    $sym_name `of` $schedules (`adaptive` `` $adaptive^)? attr-dict
  }], ["of"]>.format;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// In the order in which it names them. Null for a name that does not exist;
    /// the verifier has then reported it.
    ::llvm::SmallVector<ScheduleOp, 0> lookupSchedules();
  }];
}

def Pipe_CollectiveOp : Pipe_Op<"collective", [Symbol, HasParent<"ProgramOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a sum, a norm or a gather of several ranks";
  let description = [{
    `replica_gradients` adds the gradients of a stage over its replicas;
    `tied_gradients "tensor"` adds the partial gradients of a weight that
    several stages share; `gradient_norm` computes the global norm. Stages are
    listed in pipeline order; each of their ranks runs `pipe.issue` and
    `pipe.await` with its name once. `gather_weights` and `scatter_gradients`
    are what `pipe.unshard` and `pipe.reduce_grad` of the replicas of a group issue.
    `gather_updates` gathers the weights that the steps of a group have made, for a
    stage that shards its moments alone; it is issued after the steps.

    `replicas` names a replica of each listed stage, which may then be listed more than
    once; without it, all replicas of the stages take part. `elements` is the part
    of a shared tensor that its replicas have in their shards: the first, and how
    many. `ns` is how long it takes once all ranks have joined (default 0). Where
    iterations overlap, the step that awaits a norm may be `later` iterations
    after it; a rank then issues it after its steps.

    ```mlir
    pipe.collective @c0 tied_gradients "wte" [@s0, @s1] ns = 40000
    pipe.collective @c1 gradient_norm [@s0, @s1]
    pipe.collective @c2 gather_weights [@s0, @s0] replicas [2, 3]
    pipe.collective @c3 gradient_norm [@s0, @s1] later = 2
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      EnumProp<Pipe_CollectiveKind>:$kind,
      OptionalAttr<StrAttr>:$tensor,
      Pipe_Names<"stages">:$stages,
      OptionalAttr<DenseI64ArrayAttr>:$replicas,
      OptionalAttr<DenseI64ArrayAttr>:$elements,
      DefaultValuedProp<I64Prop, "0">:$ns,
      DefaultValuedProp<I64Prop, "0">:$later);
  let assemblyFormat = Pipe_InOrder<"replicas, elements, ns, later", [{
    custom<Numbered>($sym_name, "'c'") custom<Word>($kind) ($tensor^)? $stages `` custom<ReplicaIndices>($replicas)
    (`elements` $elements^)? (`ns` `=` $ns^)? (`later` `=` $later^)? attr-dict
  }]>.format;
  let hasVerifier = 1;
}

def Pipe_PoolOp : Pipe_Op<"pool", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "equal slots in the arena of a rank";
  let description = [{
    `offset` is in bytes from the beginning of the arena.

    `staging` is where the collectives of the rank receive what they add. A rank
    that adds a shard of a sum receives that shard of the other ranks' parts. Its
    collectives run one after another, so it has one place for all of them: a pool
    of one slot, in which no buffer lies. A rank whose collectives receive nothing
    to add has none.

    The slots of a pool `on_host` lie in the rank's arena on its host.

    ```mlir
    pipe.pool @p0 on 1 <offset = 0, slot_bytes = 1024, slots = 3>
    pipe.pool @p1 on 1 staging <offset = 3072, slot_bytes = 512, slots = 1>
    pipe.pool @p2 on 1 on_host <offset = 0, slot_bytes = 1024, slots = 2>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Prop:$rank,
      UnitAttr:$staging, UnitAttr:$on_host, Pipe_PoolAttr:$layout);
  let assemblyFormat = Pipe_InOrder<"on, staging or on_host", [{
    custom<Numbered>($sym_name, "'p'") `on` $rank (`staging` $staging^)? (`on_host` $on_host^)? $layout attr-dict
  }], ["on"]>.format;
  let hasVerifier = 1;
}

def Pipe_PlaceOp : Pipe_Op<"place", [HasParent<"ProgramOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "slots of a stage's buffer";
  let description = [{
    Micro-batch i uses the slot at position i modulo the length of the list, and
    so does version i of the weights. State that exists once lists one slot. If
    micro-batches differ in size, `spans` lists how many consecutive slots each
    takes, from the listed one on.

    An input, an output gradient or an input gradient belongs to an edge of the
    plan. If the stage has several such edges, `with` names the stage at the
    other end.

    ```mlir
    pipe.place input @s1 in @p0 [0, 1, 2]
    pipe.place input @join with @left in @p1 [0]
    pipe.place input @s1 in @p2 [0, 12, 40] spans [12, 28, 6]
    ```
  }];
  let arguments = (ins EnumProp<Pipe_Buffer>:$buffer, FlatSymbolRefAttr:$stage,
      OptionalAttr<I64Attr>:$replica, OptionalAttr<FlatSymbolRefAttr>:$peer,
      FlatSymbolRefAttr:$pool, DenseI32ArrayAttr:$slots,
      OptionalAttr<DenseI32ArrayAttr>:$spans);
  let assemblyFormat = Pipe_InOrder<"with, in, spans", [{
    custom<Word>($buffer) custom<Replica>($stage, $replica) (`with` $peer^)? `in` custom<Numbered>($pool, "'p'") $slots (`spans` $spans^)? attr-dict
  }], ["in"]>.format;
  let hasVerifier = 1;
}

class Pipe_MessageOp<string mnemonic, string kind>
    : Pipe_IndexedOp<mnemonic, kind, [ParentOneOf<["RankOp", "ForOp", "RepeatOp"]>]> {
  let arguments = (ins EnumProp<Pipe_Message>:$message, FlatSymbolRefAttr:$stage,
      AffineMapAttr:$map, Variadic<Index>:$indices,
      OptionalAttr<I64Attr>:$replica, OptionalAttr<FlatSymbolRefAttr>:$receiver,
      OptionalAttr<I64Attr>:$receiver_replica);
  let assemblyFormat = Pipe_InOrder<"to", [{
    custom<Word>($message) custom<Replica>($stage, $replica) `` custom<Microbatch>($map, $indices)
    (`to` custom<Replica>($receiver, $receiver_replica)^)? attr-dict
  }]>.format;
}

def Pipe_RecvOp : Pipe_MessageOp<"recv", "Recv"> {
  let summary = "post the buffer for a message";
  let description = [{
    The message is named by its producer: the activation of a stage's F, the
    gradient of a stage's I or B. If several stages need one, `to` names the
    stage that this one is for. If several replicas of the producer have samples
    for the replica on this rank, a number after a colon names the replica. Does
    not wait for the message.

    ```mlir
    pipe.recv activation @s0[%i]
    pipe.recv activation @s0[%i] to @s2
    pipe.recv activation @s0:1[%i]
    ```
  }];
}

def Pipe_SendOp : Pipe_MessageOp<"send", "Send"> {
  let summary = "hand over a message";
  let description = [{
    Comes after the task that makes the message. Does not wait for the receiver;
    the buffer stays in use until the receiver has the message. If several replicas
    of a stage take samples of it, `to` names the one that this is for.

    ```mlir
    pipe.send gradient @s1[%i]
    pipe.send gradient @s1[%i] to @s0:1
    ```
  }];
}

class Pipe_CollectiveUserOp<string mnemonic, string kind>
    : Pipe_StepActionOp<mnemonic, kind,
          [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let arguments = (ins FlatSymbolRefAttr:$collective, AffineMapAttr:$map,
      Variadic<Index>:$indices);
  let assemblyFormat = Pipe_InOrder<"", [{
    custom<Numbered>($collective, "'c'") `` custom<StepNumber>($map, $indices) attr-dict
  }]>.format;
  let extraClassDefinition = actionKind # [{
    ::llvm::LogicalResult
    $cppClass::verifySymbolUses(::mlir::SymbolTableCollection &tables) {
      return ::rondo::pipe::detail::verifyCollectiveUse(
          getOperation(), getCollectiveAttr(), tables);
    }
  }];
}

def Pipe_IssueOp : Pipe_CollectiveUserOp<"issue", "AllReduce"> {
  let summary = "issue a collective of the program";
  let description = [{
    Does not wait for the other ranks. Comes after the last weight gradient of
    its stages; a norm also after the awaits of the sums it reads. A rank runs its
    collectives in the order in which it issues them. Where iterations overlap,
    the number in brackets is the iteration that it belongs to.

    ```mlir
    pipe.issue @c0
    pipe.issue @c0[%t]
    ```
  }];
}

def Pipe_AwaitOp : Pipe_CollectiveUserOp<"await", "Await"> {
  let summary = "wait for a collective";
  let description = [{
    Comes after the `pipe.issue` of the same collective, and before the steps that
    read its result.

    ```mlir
    pipe.await @c0
    ```
  }];
}

#endif // RONDO_DIALECT_PIPEPROGRAMOPS_TD
