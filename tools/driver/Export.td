// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm output : Value<"output", "FILE",
  "where to write the schedule (default: standard output)">;
defm o : ShortOutput<"FILE">;
defm problem : Value<"problem", "FILE",
  "the problem of a rondo-schedule (default: its orders alone, each F, I and W "
  "of 1 ns)">;
defm problem_output : Value<"problem-output", "FILE",
  "also write the problem as rondo-problem">;
defm schedule : Value<"schedule", "NAME",
  "which schedule of a .mlir file (default: the only one)">;
defm costs : Value<"costs", "FILE",
  "measured times for a .mlir file (rondo-costs)">;
defm line : Value<"line", "N",
  "which line of a .jsonl file of schedules (default: the only one)",
  [Positive]>;
def fuse : Switch<"fuse",
  "adjacent I and W become B if nothing waits for the I (torch-csv, "
  "torch-csv-comms, jaxpp, primus)">;
defm backward : Value<"backward", "B:STAGES",
  "run whole backwards in these stages, such as B:0,2-3, B:last or B:all, and "
  "say how the predicted time changes (torch-csv, torch-csv-comms, jaxpp, "
  "primus)">;
def ascending : Switch<"ascending",
  "rename micro-batches so that the forwards of every stage ascend; an error "
  "if no names do (torch-csv, torch-csv-comms, jaxpp, primus)">;
def pad : Switch<"pad",
  "give every micro-batch the largest size, for tools whose messages have fixed "
  "shapes, and say how the predicted time changes (torch-csv, torch-csv-comms, "
  "torchtitan, megatron, jaxpp, primus)">;
defm messages : Choice<"messages", "rounds,early",
  "where messages are placed: in one order for all ranks, or as early as they "
  "can be sent if that is proved to end in one in-order queue a rank "
  "(torch-csv-comms; default rounds)">;
defm torch : Value<"torch", "VERSION",
  "the version of PyTorch that reads it, from 2.7 to 2.15 (torch-csv, "
  "torch-csv-comms; default 2.15)">;
defm csv : Value<"csv", "FILE",
  "where torchtitan finds the CSV (torchtitan; default schedule.csv)">;
