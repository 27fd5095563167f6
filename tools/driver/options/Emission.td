//===- Emission.td - Options of compile and bundle ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

defm schedule : Value<"schedule", "NAME[,NAME...]",
  "the schedules to compile, over one state (default: those of the first "
  "pipe.executable, else the first)">;
defm schedule_file : Value<"schedule-file", "FILE",
  "an order for a plan of the file (rondo-schedule), instead of its "
  "schedules">;
defm costs : Value<"costs", "FILE",
  "measured times of the stages (rondo-costs/1), as written by "
  "'train --profile'; may be repeated, for micro-batches of several sizes",
  [Repeatable]>;
defm target : Choice<"target", "cpu,cuda",
  "what to compile for (default: what the plan says, else cpu)">;
defm dtype : Choice<"dtype", "fp32,bf16",
  "number type of activations (default: fp32 on cpu, the only one there; "
  "bf16 on cuda)">;
defm optimizer : Choice<"optimizer", "adamw,sgd,plain_sgd",
  "what memory is planned for: two moments of each weight, one, or, for sgd "
  "without momentum, none (default: what the plan says, else adamw)">;
defm transport : Choice<"transport", "threads,mpi",
  "how ranks on target cpu exchange messages (default threads)">;
def adaptive : Switch<"adaptive",
  "add schedules for other conditions of the network, between which the program "
  "switches while it trains (see candidates)">;
def impose_links : Switch<"impose-links",
  "make a program that can impose links, for experiments: its flags --link and "
  "--link-trace (an adaptive one always can)">;
