//===- Searching.td - Options of search and compare --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

defm costs : Value<"costs", "FILE",
  "measured times of the stages of a .mlir file (rondo-costs/1)">;
defm time_limit_ms : Value<"time-limit-ms", "N",
  "wall time for a problem; 0: none (default 1000, with --effort none)",
  [Number]>;
defm effort : Value<"effort", "N",
  "work for a problem, in 1,000 tasks placed or timed, 1 or more (default: by "
  "its size)", [Positive]>;
defm seed : Value<"seed", "N", "first number of the random choices (default 0)",
  [Number]>;
defm objective : Choice<"objective", "makespan,span",
  "what is to be short (default: what the problem says)">;
defm placement : List<"placement", "auto,linear,interleaved,v,wave",
  "lay the layers of a .mlir file anew: auto, or some of "
  "linear,interleaved,v,wave">;
defm chunks : List<"chunks", "auto",
  "stages of each rank: auto, or numbers such as 1,2,4">;
defm microbatches : List<"microbatches", "",
  "numbers of micro-batches into which the samples of an iteration are cut, "
  "such as 8,16">;
