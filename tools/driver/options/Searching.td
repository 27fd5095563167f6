//===- Searching.td - Options of search and compare --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

defm costs : Value<"costs", "FILE",
  "measured times of the stages of a .mlir file (rondo-costs/1)">;
defm time_limit_ms : Value<"time-limit-ms", "N",
  "wall time per problem in ms; 0: no limit (default 1000, or no limit with "
  "--effort)",
  [Number]>;
defm effort : Value<"effort", "N",
  "work per problem, in 1,000 tasks placed or timed, 1 or more (default: by "
  "its size)", [Positive]>;
defm seed : Value<"seed", "N", "seed of the random choices (default 0)",
  [Number]>;
defm threads : Value<"threads", "N",
  "threads, for several problems at the same time or together for one (default "
  "1); with --effort they change no result", [Positive]>;
defm objective : Choice<"objective", "makespan,span",
  "what to minimize (default: what the problem says)">;
defm placement : List<"placement", "auto,linear,interleaved,v,wave",
  "where to place the layers of a .mlir file: auto, or some of "
  "linear,interleaved,v,wave">;
defm chunks : List<"chunks", "auto",
  "stages per rank: auto, or numbers such as 1,2,4">;
defm microbatches : List<"microbatches", "",
  "how many micro-batches to cut an iteration's samples into, such as 8,16, of "
  "a .mlir file or of a window">;
