// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

// Options for a model.
defm samples : Value<"samples", "N",
  "samples of an iteration, all micro-batches and replicas together",
  [Positive]>;
defm target : Choice<"target", "cpu,cuda",
  "what the plan is compiled for (default cpu)">;
defm dtype : Choice<"dtype", "fp32,bf16",
  "what weights and activations are stored in (default: fp32 on CPUs, bf16 on "
  "GPUs)">;
defm microbatch_samples : List<"microbatch-samples", "",
  "samples of a micro-batch to try, such as 8,16 (default: every divisor of "
  "--samples)">;
defm recompute : Choice<"recompute", "auto,none,all",
  "which blocks run their forward again: as few as memory asks for, none or "
  "all (default auto)">;
defm offload : Choice<"offload", "auto,none",
  "whether activations may be copied to the host, on devices with a host_link, "
  "where memory asks for it (default auto)">;
defm chunks : List<"chunks", "",
  "stages of a rank to try in addition to one, such as 2 (default 2,4)">;
defm cut : List<"cut", "",
  "how many layers each stage has, such as 5,4,5, in place of a search for "
  "stages">;
defm weights : List<"weights", "",
  "how much work each stage gets in proportion, such as 1,1,2, in place of a "
  "search for stages">;
defm layout : Value<"layout", "TEXT",
  "stages as Megatron-LM's --pipeline-model-parallel-layout has them, such as "
  "'Et*3|t*4|t*3L', in place of a search for stages">;
defm costs : Value<"costs", "FILE",
  "measured times of the model's layers (rondo-costs/1); may be repeated, for "
  "micro-batches of several sizes", [Repeatable]>;
defm rows : Value<"rows", "N", "plans to show, best first (default 8)",
  [Positive]>;

// Options for problems.
defm problems : Value<"problems", "FILE",
  "layers and devices to plan for (rondo-planning); one without a plan does not "
  "stop the rest">;
defm evaluator : Choice<"evaluator", "1f1b,spp,spp-full-duplex,rondo",
  "what an iteration's time is computed by; rondo: the simulator, of the best "
  "schedule found (default 1f1b)">;
defm schedules : Value<"schedules", "FILE",
  "with --evaluator rondo: where to write the schedules, one "
  "rondo-schedule line per plan; with --layers: of the best cut, one per "
  "batch">;
defm schedule_problems : Value<"schedule-problems", "FILE",
  "with --evaluator rondo or --layers: where to write what the schedules are "
  "for, one rondo-problem line each, as rondo simulate reads it">;
defm threads : Value<"threads", "N",
  "problems planned at the same time (default 1)", [Positive]>;

// Options for batches.
defm layers : Value<"layers", "FILE",
  "a problem with one stage per layer, whose costs are affine in sizes "
  "(rondo-problem/2); cuts it into one stage for each of its ranks">;
defm batches : Value<"batches", "FILE",
  "with --layers: sampled batches, a line {\"sizes\": ...} each; the cut has "
  "the least mean time over them">;

defm output : Value<"output", "FILE",
  "where to write the best plan of a model, as .mlir; or one rondo-plan line "
  "per problem, in input order (default: standard output)">;
defm o : ShortOutput<"FILE">;
defm time_limit_ms : Value<"time-limit-ms", "N",
  "wall time in ms, of a model or of each problem; 0: no limit (default 20000 "
  "and 1000, or no limit with --effort)",
  [Number]>;
defm effort : Value<"effort", "N",
  "work per problem, in 1,000 plans timed, 1 or more (default 1000)",
  [Positive]>;
defm seed : Value<"seed", "N", "seed of the random choices (default 0)",
  [Number]>;
def baselines : Switch<"baselines",
  "print the figures of published planners' plans next to each plan's, best "
  "first, of a model with 1F1B; plans of problems are then only written to a "
  "given --output">;
