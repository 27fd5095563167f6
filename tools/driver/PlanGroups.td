// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm samples : Value<"samples", "N",
  "samples of an iteration, all micro-batches and replicas together",
  [Positive]>;
defm sequence : Value<"sequence", "N",
  "tokens of a sample (default: the model's positions, at most 4096)",
  [Positive]>;
defm device : Choice<"device", "h100,h200,b200,gb200,b300,gb300,a100",
  "the data sheet of the cluster's devices (default: the one with their memory "
  "and peak)">;
defm precision : Choice<"precision", "bf16,fp8,mxfp8,nvfp4",
  "operands of products (default bf16)">;
defm stack : Choice<"stack", "megatron,torchtitan",
  "the tool that runs the plan: its kernels and how it shares state (default "
  "megatron)">;
defm recompute : Choice<"recompute", "auto,none,full",
  "what runs its forward again: as memory asks for, nothing or all layers "
  "(default auto)">;
defm microbatch_samples : List<"microbatch-samples", "",
  "samples of a micro-batch to try, such as 1,2 (default: every divisor up to "
  "16)">;
defm overlap : List<"overlap", "tensor,experts",
  "messages that the stack sends during other work: those of tensor groups "
  "during products, those to experts during another micro-batch (default: "
  "none)">;
defm rates : Value<"rates", "FILE",
  "what this stack reaches on these devices (rondo-rates), as --calibrate "
  "writes it">;
defm calibrate : Value<"calibrate", "LOG",
  "a log of the run: writes what its stack reaches to --output, as rondo-rates">;
defm rows : Value<"rows", "N", "layouts to show, best first (default 8)",
  [Positive]>;
defm output : Value<"output", "FILE",
  "where to write the best layout: a rondo-layout, or its pipeline, with a rank "
  "for each group, if the name ends in .mlir">;
defm layout : Choice<"layout", "best,own",
  "of a RUN: the layout that --output writes, the best one or the run's own "
  "(default best)">;
defm o : ShortOutput<"FILE">;
