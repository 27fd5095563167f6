// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm schedule : Value<"schedule", "NAME",
  "the schedule to which others are added (default: the first)">;
defm costs : Value<"costs", "FILE",
  "measured times of the stages (rondo-costs/1), as written by "
  "'train --profile'; may be repeated, for micro-batches of several sizes",
  [Repeatable]>;
defm target : Choice<"target", "cpu,cuda",
  "what to compile for (default: what the plan says, else cpu)">;
defm dtype : Choice<"dtype", "fp32,bf16",
  "number type of activations (default: fp32 on cpu, the only one there; "
  "bf16 on cuda)">;
defm candidates : Value<"candidates", "N",
  "the most that a program has, 2 or more (default 8)", [Positive]>;
defm memory : Value<"memory", "BYTES",
  "a limit for the arena of each rank (default: what the devices have)",
  [Positive]>;
defm time_limit_ms : Value<"time-limit-ms", "N",
  "wall time in ms; 0: no limit (default 5000, or no limit with --effort)",
  [Number]>;
defm effort : Value<"effort", "N",
  "work of all searches, in 1,000 tasks placed or timed, 1 or more",
  [Positive]>;
defm seed : Value<"seed", "N", "seed of the random choices (default 0)",
  [Number]>;
def all : Switch<"all", "show every candidate, not only those that are kept">;
defm output : Value<"output", "FILE",
  "write the plans, the schedules and the pipe.executable of the kept ones">;
defm o : ShortOutput<"FILE">;
