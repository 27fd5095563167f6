//===- PipeScheduleOps.td - The order of every rank --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_PIPESCHEDULEOPS_TD
#define RONDO_DIALECT_PIPESCHEDULEOPS_TD

include "dialect/PipeInterfaces.td"
include "dialect/PipePlanOps.td"
include "mlir/IR/OpAsmInterface.td"

def Pipe_ScheduleOp : Pipe_Op<"schedule", [Symbol, NoTerminator,
    NoRegionArguments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the order in which every rank runs its tasks";
  let description = [{
    Written by hand, by a family or by a search; all three are the same op. If a
    schedule has no body, `pipe-generate-schedules` writes it from its `family`, or
    `pipe-search-schedules` from its `search`, with the result in `found`. Both
    stay as provenance. Times are not part of a schedule: each rank runs its order
    as early as possible.

    Every stage adds the gradients of micro-batches in the order of their indices,
    or with `accumulate([2, 0, 1])` in that order; the sequential run adds in the
    same one. `accumulate(schedule_order)` allows any; sums then differ in their
    last bits from the sequential run's.

    Every stage steps at the end of the iteration, unless the orders hold a
    `pipe.step` of each. The steps of a model with weights wait for the norm of
    all gradients, so they come after the last weight gradient of their rank.
    `norm(none)` leaves it out: such a program runs with `--clip 0`, and does not
    skip a step if a gradient is not finite. Where iterations overlap there is no
    such norm to leave out.

    With `versions`, iterations overlap: tasks may read weights that are some
    updates old, by a policy for all stages or by a list with one for each. A
    family whose iterations overlap brings its own. The order of each rank then
    has a part that begins a run, and a `pipe.repeat`. Such programs clip
    gradients by stage; with `clip(global)` by the norm of all gradients of an
    earlier iteration, whose number the compiler finds. `claims` states how many
    versions are kept and how late tasks are; `pipe-verify-scheduled` checks it.

    Where stages are sharded, `pipe-place-gathers` writes where weights are
    gathered and freed and gradients reduced, as `gathers` says, unless the orders
    say it themselves.

    The body has at most one `pipe.rank` per rank, one `pipe.link_order` per
    pair and one `pipe.copy_order` per shared host link. `pipe-verify-scheduled`
    checks that it is complete and can run.

    ```mlir
    pipe.schedule @pairs of @step family<"kfkb", k = 2>
    pipe.schedule @auto of @step search<objective = makespan, effort = 1000>
    pipe.schedule @mine of @step {
      pipe.rank 0 {
        pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
        pipe.for %i = 0 to 6 {
          pipe.backward @s0[%i]
          pipe.forward @s0[%i + 2]
        }
        pipe.for %i = 6 to 8 { pipe.backward @s0[%i] }
      }
    }
    pipe.schedule @asynchronous of @step family<"pipedream">
    pipe.schedule @newest of @step family<"pipedream">
        versions<forward = live, backward = live> clip(global)
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$plan,
      OptionalAttr<Pipe_FamilyAttr>:$family,
      OptionalAttr<Pipe_SearchAttr>:$search, OptionalAttr<Pipe_FoundAttr>:$found,
      OptionalAttr<TypedArrayAttrBase<Pipe_VersionsAttr,
                                      "policies by stage">>:$versions,
      OptionalAttr<Pipe_GathersAttr>:$gathers,
      OptionalAttr<Pipe_ClaimsAttr>:$claims,
      OptionalAttr<DenseI32ArrayAttr>:$order,
      DefaultValuedProp<EnumProp<Pipe_Accumulate>,
          "Accumulate::IndexOrder">:$accumulate,
      DefaultValuedProp<EnumProp<Pipe_Norm>, "Norm::Global">:$norm,
      DefaultValuedProp<EnumProp<Pipe_Clip>, "Clip::Stage">:$clip);
  let regions = (region MaxSizedRegion<1>:$body);
  let assemblyFormat = Pipe_InOrder<
      "of, family, search, found, versions, gathers, accumulate, norm, clip, claims, {...}", [{
    $sym_name `of` $plan (`family` `` $family^)? (`search` `` $search^)?
    (`found` `` $found^)? (`versions` `` custom<Versions>($versions)^)?
    (`gathers` `` $gathers^)?
    (`accumulate` `(` custom<Accumulation>($accumulate, $order)^ `)`)?
    (`norm` `(` custom<Word>($norm)^ `)`)?
    (`clip` `(` custom<Word>($clip)^ `)`)? (`claims` `` $claims^)?
    attr-dict-with-keyword ($body^)?
  }], ["of"]>.format;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Null if there is none of that name; the verifier has then reported it.
    PlanOp lookupPlan();
    /// The rank bodies in the order in which they are written. A rank without
    /// one is idle.
    ::llvm::SmallVector<RankOp, 0> getRanks();
    ::llvm::SmallVector<LinkOrderOp, 0> getLinkOrders();
    ::llvm::SmallVector<CopyOrderOp, 0> getCopyOrders();
    /// True if no order is written yet.
    bool isBodyEmpty() { return getBody().empty() || getBody().front().empty(); }
    /// Whether iterations overlap, by its own attribute or by its family.
    bool overlaps();
    /// Iterations from one repetition to the next, where it has a body and
    /// iterations overlap.
    int64_t getIterationsEach();
    /// Whether gradients are added in a stated order, by index or of the list
    /// `order`, so that the sequential run has the same bits.
    bool accumulatesInStatedOrder() {
      return getAccumulate() == Accumulate::IndexOrder;
    }
    /// Whether it computes the norm of all gradients, for clipping.
    bool computesNorm() {
      return overlaps() ? getClip() == Clip::Global
                        : getNorm() == Norm::Global;
    }
  }];
}

def Pipe_RankOp : Pipe_Op<"rank", [NoTerminator, SingleBlock,
    NoRegionArguments, ParentOneOf<["ScheduleOp", "ProgramOp"]>]> {
  let summary = "the order of one rank's actions";
  let description = [{
    The rank is its number in the cluster, from 0. A rank that is not named has
    nothing to do.

    ```mlir
    pipe.rank 1 { pipe.for %i = 0 to 8 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
    ```
  }];
  let arguments = (ins I64Prop:$rank);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat =
      Pipe_InOrder<"{...}", "$rank attr-dict-with-keyword $body">.format;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Pipe_LinkOrderOp : Pipe_Op<"link_order", [NoTerminator, SingleBlock,
    NoRegionArguments, HasParent<"ScheduleOp">]> {
  let summary = "the order of the messages from one rank to another";
  let description = [{
    Optional. Names every message of the link once, by its producer: the
    `forward` that makes an activation, the `input_grad` or `backward` that
    makes a gradient. A link without one carries its messages in the order in
    which they become ready.

    ```mlir
    pipe.link_order 0 -> 1 { pipe.for %i = 0 to 8 { pipe.forward @s0[%i] } }
    ```
  }];
  let arguments = (ins I64Prop:$from, I64Prop:$to);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat =
      Pipe_InOrder<"{...}", "$from `->` $to attr-dict-with-keyword $body">.format;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Pipe_CopyOrderOp : Pipe_Op<"copy_order", [NoTerminator, SingleBlock,
    NoRegionArguments, HasParent<"ScheduleOp">]> {
  let summary = "the order of the copies over a shared host link";
  let description = [{
    Optional. The number is that of the `pipe.host_link` among those of the
    cluster, from 0. Names every copy of the link's ranks once. A link without
    one carries copies in the order in which they become ready. `@s0` is the first
    replica of a stage with several; `@s0:1` names another by its number.

    ```mlir
    pipe.copy_order 0 { pipe.save @s0[0] pipe.save @s1[0] pipe.load @s1[0] pipe.load @s0[0] }
    ```
  }];
  let arguments = (ins I64Prop:$link);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat =
      Pipe_InOrder<"{...}", "$link attr-dict-with-keyword $body">.format;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Pipe_LoopBody : Region<
    CPred<"::llvm::hasSingleElement($_self) && $_self.getNumArguments() == 1 && "
          "$_self.getArgument(0).getType().isIndex()">,
    "region with one variable of type index">;

def Pipe_ForOp : Pipe_Op<"for", [NoTerminator, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    ParentOneOf<["RankOp", "LinkOrderOp", "CopyOrderOp", "ForOp",
                 "RepeatOp"]>]> {
  let summary = "repeat tasks over a range of numbers";
  let description = [{
    Runs its body for the variable = first, first + step, ... below the end.
    Bounds are constants; `step` is at least 1 (default 1). An empty range runs
    nothing. Loops may be nested.

    ```mlir
    pipe.for %i = 0 to 8 step 2 {
      pipe.for %j = 0 to 2 { pipe.forward @s0[%i + %j] }
      pipe.for %j = 0 to 2 { pipe.backward @s0[%i + %j] }
    }
    ```
  }];
  let arguments = (ins I64Prop:$lower, I64Prop:$upper,
      DefaultValuedProp<I64Prop, "1">:$step);
  let regions = (region Pipe_LoopBody:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    /// Makes the body block with its variable.
    OpBuilder<(ins "int64_t":$lower, "int64_t":$upper, "int64_t":$step)>
  ];
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getVariable() { return getBody().getArgument(0); }
    /// Number of repetitions of the body. Cannot overflow: the verifier bounds it.
    int64_t getTripCount();
  }];
}

def Pipe_RepeatOp : Pipe_Op<"repeat", [NoTerminator, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    HasParent<"RankOp">]> {
  let summary = "actions that repeat from iteration to iteration";
  let description = [{
    The last op of a rank whose iterations overlap. Its variable is 0, `step`,
    2 * `step` and so on (default 1): each repetition adds that many iterations.
    Micro-batches and steps are numbered from 0 through all iterations of a run.
    A run has any number of iterations; it leaves out what belongs to iterations
    that it does not have, here and earlier in the order, and so it drains.

    ```mlir
    pipe.rank 0 {
      pipe.for %i = 0 to 3 { pipe.forward @s0[%i] }
      pipe.repeat %t {
        pipe.for %i = 0 to 4 { pipe.backward @s0[%t * 4 + %i]  pipe.forward @s0[%t * 4 + %i + 3] }
        pipe.step @s0[%t]
      }
    }
    ```
  }];
  let arguments = (ins DefaultValuedProp<I64Prop, "1">:$step);
  let regions = (region Pipe_LoopBody:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    /// Makes the body block with its variable.
    OpBuilder<(ins "int64_t":$step)>
  ];
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getVariable() { return getBody().getArgument(0); }
  }];
}

defvar verifyStageUse = [{
    ::llvm::LogicalResult
    $cppClass::verifySymbolUses(::mlir::SymbolTableCollection &tables) {
      return ::rondo::pipe::detail::verifyStageUse(getOperation(),
                                                   getStageAttr(), tables);
    }
  }];

/// An op on a micro-batch of a stage, `name @stage[index]`.
class Pipe_IndexedOp<string mnemonic, string kind, list<Trait> traits>
    : Pipe_Op<mnemonic, !listconcat(traits, [
          DeclareOpInterfaceMethods<SymbolUserOpInterface>,
          DeclareOpInterfaceMethods<Pipe_ActionOpInterface>,
          Pipe_ReplicaOpInterface])> {
  let extraClassDefinition = verifyStageUse # [{
    ::rondo::ActionKind $cppClass::getActionKind() {
      return ::rondo::ActionKind::}] # kind # [{;
    }
  }];
}

class Pipe_TaskOp<string mnemonic, string kind>
    : Pipe_IndexedOp<mnemonic, kind,
          [ParentOneOf<["RankOp", "LinkOrderOp", "CopyOrderOp", "ForOp",
                        "RepeatOp"]>]> {
  let arguments = (ins FlatSymbolRefAttr:$stage, AffineMapAttr:$map,
      Variadic<Index>:$indices, OptionalAttr<I64Attr>:$replica);
  let assemblyFormat = Pipe_InOrder<"", [{
    custom<Replica>($stage, $replica) `` custom<Microbatch>($map, $indices) attr-dict
  }]>.format;
}

def Pipe_ForwardOp : Pipe_TaskOp<"forward", "Forward"> {
  let summary = "forward of a stage for one micro-batch, F";
  let description = [{
    Needs the F of the stages that feed this one, for the same micro-batch. The
    micro-batch is a number or a sum of multiples of enclosing loop variables.

    `@s0` is the replica on this rank. `@s0:1` names another by its number, which
    only a program's reference runs.

    ```mlir
    pipe.forward @s0[%i * 2 + %j + 3]
    pipe.forward @s0[7]
    pipe.forward @s0:1[7]
    ```
  }];
}

def Pipe_InputGradOp : Pipe_TaskOp<"input_grad", "InputGrad"> {
  let summary = "gradient of a stage's input, I";
  let description = [{
    Needs the I (or B) of the stages that this one feeds, and its own F, for the
    same micro-batch. Zero-bubble papers call it B. Requires a `pipe.weight_grad`
    for the same micro-batch and excludes a `pipe.backward`.

    ```mlir
    pipe.input_grad @s0[%i]
    ```
  }];
}

def Pipe_WeightGradOp : Pipe_TaskOp<"weight_grad", "WeightGrad"> {
  let summary = "gradient of a stage's weights, W";
  let description = [{
    Needs the I of the same stage and micro-batch. No other task waits for it, so
    it fills bubbles.

    ```mlir
    pipe.weight_grad @s0[%i]
    ```
  }];
}

def Pipe_BackwardOp : Pipe_TaskOp<"backward", "Backward"> {
  let summary = "input and weight gradient as one, B";
  let description = [{
    I and then W without a gap. Its input gradient is sent at its end.

    Where iterations overlap, one may serve several micro-batches from its own
    on, all of one iteration. A program runs them one after another.

    ```mlir
    pipe.backward @s0[%i]
    pipe.backward @s0[%t * 4] count(4)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$stage, AffineMapAttr:$map,
      Variadic<Index>:$indices, OptionalAttr<I64Attr>:$replica,
      DefaultValuedProp<I64Prop, "1">:$count);
  let assemblyFormat = Pipe_InOrder<"count", [{
    custom<Replica>($stage, $replica) `` custom<Microbatch>($map, $indices)
    (`count` `(` $count^ `)`)? attr-dict
  }]>.format;
  let hasVerifier = 1;
}

def Pipe_RecomputeOp : Pipe_TaskOp<"recompute", "Recompute"> {
  let summary = "forward of a stage again, R";
  let description = [{
    Restores the activations that a stage with `recompute` does not keep. Needs
    the F of the same stage and micro-batch, and comes before its I or B.

    ```mlir
    pipe.recompute @s0[%i]
    ```
  }];
}

def Pipe_SaveOp : Pipe_TaskOp<"save", "Save"> {
  let summary = "copy of activations to the host";
  let description = [{
    Copies what a stage with `offload` holds of a micro-batch to the host. Needs
    the F of the same stage and micro-batch. Each micro-batch has a `pipe.save`
    and a `pipe.load` or neither. Copies run on lanes of their own; their place
    in the order says when their bytes are needed, see
    [rule S5](../schedule-rules.md#s5-memory).

    ```mlir
    pipe.save @s0[%i]
    ```
  }];
}

def Pipe_LoadOp : Pipe_TaskOp<"load", "Load"> {
  let summary = "copy of activations back from the host";
  let description = [{
    Copies back what the `pipe.save` of the same stage and micro-batch has copied,
    before the task that needs it.

    ```mlir
    pipe.load @s0[%i]
    ```
  }];
}

/// An action of an iteration, not of a micro-batch. Its number is 0 unless
/// iterations overlap, and then not written.
class Pipe_StepActionOp<string mnemonic, string kind, list<Trait> traits>
    : Pipe_Op<mnemonic, !listconcat(traits, [
          ParentOneOf<["RankOp", "ForOp", "RepeatOp"]>, Pipe_IndexedOpInterface,
          DeclareOpInterfaceMethods<Pipe_ActionOpInterface>])> {
  code actionKind = [{
    ::rondo::ActionKind $cppClass::getActionKind() {
      return ::rondo::ActionKind::}] # kind # [{;
    }
  }];
  let extraClassDefinition = actionKind;
}

def Pipe_StepOp : Pipe_StepActionOp<"step", "Step",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>, Pipe_ReplicaOpInterface]> {
  let summary = "optimizer step of a stage";
  let description = [{
    Updates the stage's weights from the gradients of all its micro-batches.
    Comes anywhere after the last of these; in a program also after the awaits of
    the collectives that the stage is part of. A schedule either has one for each
    stage or none; without, all stages step at the end. An iteration has one step,
    number 0, which may be written in brackets. Where iterations overlap, step t
    is that of iteration t.

    ```mlir
    pipe.step @s1
    pipe.step @s1[0]
    pipe.step @s1[%t]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$stage, AffineMapAttr:$map,
      Variadic<Index>:$indices, OptionalAttr<I64Attr>:$replica);
  let assemblyFormat = Pipe_InOrder<"", [{
    custom<Replica>($stage, $replica) `` custom<StepNumber>($map, $indices) attr-dict
  }]>.format;
  let hasVerifier = 1;
  let extraClassDefinition = !strconcat(actionKind, verifyStageUse);
}

#endif // RONDO_DIALECT_PIPESCHEDULEOPS_TD
