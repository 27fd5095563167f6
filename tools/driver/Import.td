// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm output : Value<"output", "FILE",
  "where to write the schedule: .mlir, with its problem as a plan, or "
  "rondo-schedule (default: rondo-schedule on standard output)">;
defm o : ShortOutput<"FILE">;
defm problem : Value<"problem", "FILE",
  "costs and caps, of the same shape (default: each F, I and W takes 1 ns, and "
  "memory is free)">;
defm problem_output : Value<"problem-output", "FILE",
  "also write the problem as rondo-problem">;
defm name : Value<"name", "NAME",
  "which problem of --problem, or the name of the new one (default: the "
  "file's)">;
defm line : Value<"line", "N",
  "which line of a .jsonl file of schedules (rondo-schedule; default: the only "
  "one)", [Positive]>;
defm torch : Value<"torch", "VERSION",
  "the version of PyTorch that the file is for, from 2.7 to 2.15 "
  "(torch-csv-comms; default 2.15)">;
def scale_grads : Switch<"scale-grads",
  "the schedule will run with scale_grads=True, which needs REDUCE_GRAD "
  "(torch-csv-comms)">;
defm queues : Choice<"queues", "rank,pair",
  "which messages wait for one another: all of a rank, as with PyTorch's one "
  "NCCL communicator, or those of a directed pair of ranks (torch-csv-comms; "
  "default rank)">;
defm ranks : Value<"ranks", "N",
  "ranks of the pipeline (megatron-layout; default: those of --problem)",
  [Positive]>;
defm microbatches : Value<"microbatches", "N",
  "micro-batches of an iteration (megatron-layout; default: those of "
  "--problem)", [Positive]>;
defm group : Value<"group", "N",
  "micro-batches of a group of the interleaved schedule, Megatron-LM's "
  "--microbatch-group-size-per-virtual-pipeline-stage (megatron-layout; "
  "default: the ranks)", [Positive]>;
