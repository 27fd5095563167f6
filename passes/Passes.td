//===- Passes.td - The passes of Rondo ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_PASSES_TD
#define RONDO_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

def SetOptimizer : Pass<"pipe-set-optimizer", "::mlir::ModuleOp"> {
  let summary = "set the optimizer that memory is planned for";
  let description = [{
    Sets the `optimizer` of every `pipe.plan`, whatever it was. Sizes depend on
    it, so this pass runs before `pipe-resolve-stages`: a plan whose stages have
    sizes for another one is an error.

    ```mlir
    pipe.plan @step of @gpt on @lab microbatches(8) { ... }
    // becomes, with "optimizer=sgd",
    pipe.plan @step of @gpt on @lab microbatches(8) optimizer(sgd) { ... }
    ```
  }];
  let options = [
    Option<"optimizer", "optimizer", "::rondo::pipe::Optimizer",
           /*default=*/"::rondo::pipe::Optimizer::AdamW",
           "adamw, sgd or plain_sgd", [{
      ::llvm::cl::values(
          clEnumValN(::rondo::pipe::Optimizer::AdamW, "adamw",
                     "two moments of each weight"),
          clEnumValN(::rondo::pipe::Optimizer::Sgd, "sgd", "one"),
          clEnumValN(::rondo::pipe::Optimizer::PlainSgd, "plain_sgd", "none"))
    }]>
  ];
}

def SetTarget : Pass<"pipe-set-target", "::mlir::ModuleOp"> {
  let summary = "set the target of all plans";
  let description = [{
    Sets the `target` of every `pipe.plan`, whatever it was. Sizes depend on it,
    so this pass runs before `pipe-resolve-stages`: a plan whose stages have
    sizes for another target is an error.

    ```mlir
    pipe.plan @step of @gpt on @lab microbatches(8) { ... }
    // becomes, with "target=cuda dtype=bf16",
    pipe.plan @step of @gpt on @lab microbatches(8) target<cuda, bf16> { ... }
    ```
  }];
  let options = [
    Option<"target", "target", "::rondo::pipe::Target",
           /*default=*/"::rondo::pipe::Target::Cpu", "cpu or cuda", [{
      ::llvm::cl::values(
          clEnumValN(::rondo::pipe::Target::Cpu, "cpu", "threads or processes"),
          clEnumValN(::rondo::pipe::Target::Cuda, "cuda", "NVIDIA GPUs"))
    }]>,
    Option<"dtype", "dtype", "::rondo::pipe::DType",
           /*default=*/"::rondo::pipe::DType::Fp32", "fp32 or bf16", [{
      ::llvm::cl::values(
          clEnumValN(::rondo::pipe::DType::Fp32, "fp32", "single precision"),
          clEnumValN(::rondo::pipe::DType::Bf16, "bf16", "bfloat16"))
    }]>
  ];
  let dependentDialects = ["::rondo::pipe::PipeDialect"];
}

def ResolveStages : Pass<"pipe-resolve-stages", "::mlir::ModuleOp"> {
  let summary = "give every stage its costs and buffer sizes";
  let description = [{
    Fills in missing `costs` and `buffers` of each `pipe.stage` from its layers.
    Sizes come from the runtime's own size functions, so plan and program cannot
    disagree; times from measured costs of the stage, else from the costs of its
    layers, else from the layers' floating-point operations and the
    `flops_per_us` of the rank's device (by default 10,000 on `cpu`, about one
    core of a processor, and 250,000,000 on `cuda`).

    Afterwards every stage has both. What a stage states itself is kept.

    ```mlir
    pipe.stage @s0 [@wte, @h0] on 0
    // becomes
    pipe.stage @s0 [@wte, @h0] on 0 costs<forward_ns = ...> buffers<weights = ...>
    ```
  }];
  let dependentDialects = ["::rondo::pipe::PipeDialect"];
}

def VerifyPartitioned : Pass<"pipe-verify-partitioned", "::mlir::ModuleOp"> {
  let summary = "check the rules P1 to P6 of plans";
  let description = [{
    The boundary after partitioning. Every layer of the model is in exactly one
    stage, and stages follow each other in model order (P1); the problem that
    the plan states is sound: costs and sizes are known, not negative and within
    the ranges of the core (P3); a stage that feeds no other ends in a loss (P4);
    sharded stages have state (P5); copies to the host are paired (P6).
    That every stage is on a rank of the cluster (P2) is checked wherever a plan
    is read. Changes nothing.
  }];
  let dependentDialects = ["::rondo::pipe::PipeDialect"];
}

def GenerateSchedules : Pass<"pipe-generate-schedules", "::mlir::ModuleOp"> {
  let summary = "write the schedules that name a family";
  let description = [{
    For each `pipe.schedule` that names a family and has no body, writes the order
    of every rank, in loops. The family stays as provenance. A schedule with a
    body is left as it is. A family that does not apply to the plan is an error
    with the reason. An argument that is `auto` becomes the number that is best on
    the plan, for its links and within its devices' memory.

    Where iterations overlap, what repeats is written as a `pipe.repeat`, and the
    family's policy as `versions`. A family that orders by times which never
    settle into a pattern orders by equal times instead.

    ```mlir
    pipe.schedule @main of @step family<"1f1b">
    // becomes
    pipe.schedule @main of @step family<"1f1b"> { pipe.rank 0 { ... } ... }
    ```
  }];
  let dependentDialects = ["::rondo::pipe::PipeDialect"];
}

def SearchSchedules : Pass<"pipe-search-schedules", "::mlir::ModuleOp"> {
  let summary = "write the schedules that name a search";
  let description = [{
    For each `pipe.schedule` that has a `search` and no body, writes the best order
    found under the memory caps and links of its plan, in loops, and the result of
    the search in `found`. A schedule with a body is left as it is, so a printed
    result does not change. Never worse than the best family that fits. Without
    `accumulate(schedule_order)` only orders that keep S7 are accepted. If no order
    fits the plan, the error names the rank and the bytes.

    If the effort limits a search, the same seed gives the same schedule. With a
    time limit it need not: a faster machine finds more.

    The options override what the schedules say.

    ```mlir
    pipe.schedule @auto of @step search<effort = 1000>
    // becomes
    pipe.schedule @auto of @step search<effort = 1000> found<origin = "steady-state", ...> {
      pipe.rank 0 { ... }
      ...
    }
    ```
  }];
  let options = [
    Option<"timeLimitMs", "time-limit-ms", "int64_t", /*default=*/"-1",
           "wall time of each search in ms; 0: no limit">,
    Option<"effort", "effort", "int64_t", /*default=*/"-1",
           "work of each search, in 1,000 tasks placed or timed">,
    Option<"seed", "seed", "int64_t", /*default=*/"-1",
           "seed of the random choices">
  ];
  let dependentDialects = ["::rondo::pipe::PipeDialect"];
}

def PlaceGathers : Pass<"pipe-place-gathers", "::mlir::ModuleOp"> {
  let summary = "write where sharded stages gather weights and reduce gradients";
  let description = [{
    For schedules with `sharded` stages, walks the order of each rank and keeps
    the chunks whole that it uses next, in the numbers of `gathers`. Without
    numbers it takes those with the shortest simulated time within the memory, and
    among these the least memory, and writes them into `gathers`, by rank where
    that is shorter. With `gathers<rule = unit>` chunks are whole for the forwards and for
    the backwards of a unit. Orders that hold a
    `pipe.unshard`, `pipe.reshard` or `pipe.reduce_grad` are left as they are.

    ```mlir
    pipe.schedule @units of @step family<"blockwise", u = 4>
    // becomes
    pipe.schedule @units of @step family<"blockwise", u = 4> gathers<weights = 2, gradients = 1> {
      pipe.rank 0 {
        pipe.unshard @s0[0]
        pipe.for %i = 0 to 4 { pipe.forward @s0[%i] }
        ...
    ```
  }];
  let dependentDialects = ["::rondo::pipe::PipeDialect"];
}

def ChooseCandidates : Pass<"pipe-choose-candidates", "::mlir::ModuleOp"> {
  let summary = "write the schedules that an adaptive executable switches to";
  let description = [{
    For each `pipe.executable` that is `adaptive` and names a single schedule,
    adds the schedules that are faster than it under other conditions of the
    network: those of `kfkb` with other groups and other sizes of micro-batches,
    and searched ones. Plans of other sizes are copies of the schedule's plan with
    the same samples per iteration; times that it has from measurements are taken
    to be in proportion. What does not fit the devices, or is never needed, is
    left out (planning/adaptive/CandidateTable.h). An executable of several
    schedules is left as it is.

    ```mlir
    pipe.schedule @main of @step family<"1f1b">
    pipe.executable @train of [@main] adaptive<candidates = 4>
    // becomes
    pipe.schedule @main of @step family<"1f1b"> { ... }
    pipe.schedule @k2_m16 of @step_m16 family<"kfkb", k = 2> { ... }
    pipe.schedule @searched_m8 of @step search<...> found<...> { ... }
    pipe.executable @train of [@main, @k2_m16, @searched_m8] adaptive<candidates = 4>
    ```
  }];
  let dependentDialects = ["::rondo::pipe::PipeDialect"];
}

def VerifyScheduled : Pass<"pipe-verify-scheduled", "::mlir::ModuleOp"> {
  let summary = "check the rules S1 to S12 of schedules";
  let description = [{
    The boundary after scheduling. Calls the rules of schedule/rules/Legality.h, the
    same ones that search and tools call: completeness (S1), placement (S2),
    dependence (S3), no wait cycle (S4), memory at every instant (S5), link
    orders (S6). Reports the first broken rule of each schedule, with a note at
    the conflicting operation. Without `accumulate(schedule_order)` the micro-batches of
    each stage's weight gradients must be in index order (S7). Where iterations
    overlap, the window that is checked proves runs of any length, and tasks must
    find the versions that they read (S8). Gathers of sharded stages (S9) and
    copies to the host (S10 to S12) have rules of their own. Changes nothing.
  }];
  let dependentDialects = ["::rondo::pipe::PipeDialect"];
}

def InsertCommunication
    : Pass<"pipe-insert-communication", "::mlir::ModuleOp"> {
  let summary = "write the programs of a schedule, with sends and receives";
  let description = [{
    Writes three `pipe.program`s after each schedule: `<name>_sequential`, the
    reference that runs all stages on one rank; `<name>_evaluation`, forward
    only; and `<name>_lowered`, the schedule. Each directed rank pair is one
    in-order queue. A receive is posted when the simulation needs it: before the
    task that its rank runs when the link would start to carry the message. If the
    model has weights, `issue` and `await` (gradients of tied weights, then
    the global norm) and `step` come at the end of each rank.

    If the schedule has steps of its own, they stay where they are: a collective
    is issued as soon as its rank has the gradients that it reads, and awaited
    before the first step that needs it.

    Programs that the schedule already has are kept, and those of other kinds
    are added. A schedule that breaks one of the rules S1 to S6 is an error. The
    programs have no memory yet.
  }];
  let dependentDialects = ["::rondo::pipe::PipeDialect"];
}

def PlanMemory : Pass<"pipe-plan-memory", "::mlir::ModuleOp"> {
  let summary = "give every buffer a compile-time slot";
  let description = [{
    Adds `pipe.pool` and `pipe.place` to each program and sets
    `arena`, the exact bytes that each rank allocates. State comes first, at the
    same offsets in all programs of a schedule, then what collectives receive;
    transient buffers share pools of equal slots by size. The programs of one
    schedule share one arena, so its size is the largest that any of them needs.
    All other attributes of a program stay.
    A program that has an `arena` keeps its places; it must have its state where
    the others have theirs.
  }];
  let dependentDialects = ["::rondo::pipe::PipeDialect"];
}

def Roll : Pass<"pipe-roll", "::mlir::ModuleOp"> {
  let summary = "fold orders into loops";
  let description = [{
    Expands every schedule and program and folds it back, so hand-written orders
    and those of other tools are stored in loops too. The order of actions and the
    attributes of schedules and programs do not change; attributes of ranks and
    tasks are lost. Stages must have costs.

    ```mlir
    pipe.forward @s0[0]  pipe.forward @s0[1]  pipe.forward @s0[2]
    // becomes
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] }
    ```
  }];
  let dependentDialects = ["::rondo::pipe::PipeDialect"];
}

def VerifyLowered : Pass<"pipe-verify-lowered", "::mlir::ModuleOp"> {
  let summary = "check the rules L1 to L6 of programs";
  let description = [{
    The boundary after lowering. Sends match receives in order on every channel
    (L1); there is no wait cycle under the channels' protocol and slots, including
    waits for buffers that are being sent (L2); every buffer is written before it
    is read, freed once and never shared by two owners (L3); pools do not overlap,
    are inside the arena, and the arena fits the device (L4); the tasks, and the
    steps that the schedule orders, are the schedule's, and collectives and steps
    come after what they need (L5); with as many sends, receives and collectives
    of a rank in flight as the plan's target allows, there is no wait cycle either
    (L6). Stops at the first broken rule. Changes nothing.
  }];
  let dependentDialects = ["::rondo::pipe::PipeDialect"];
}

#endif // RONDO_PASSES_PASSES_TD
