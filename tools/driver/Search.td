// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"
include "tools/driver/options/Searching.td"

defm problems : Value<"problems", "FILE",
  "problems (rondo-problem); one without a schedule does not stop the rest">;
defm iterations : Value<"iterations", "N",
  "a window of N iterations, which may overlap (default: what the problem "
  "states, or 1)", [Positive]>;
defm policy : List<"policy", "synchronous,pipedream,2bw,pipemare,timeprest",
  "which versions of the weights tasks of a window may read: one policy, or "
  "several to choose from; how late they are read follows from the order, also "
  "with 2bw, and --most-delay limits it (default: what the problem states)">;
defm most_delay : Value<"most-delay", "N",
  "no task of a window may be later than N updates", [Number]>;
defm order : Choice<"order", "index,sums,perm,wperm,free",
  "which orders of micro-batches that differ may be chosen: index, F, I and W "
  "as numbered; sums, W as numbered; perm, one order for all; wperm, one order "
  "of W; free, any, with other last bits of sums (default wperm)">;
defm recompute : Choice<"recompute", "none,auto",
  "whether stages of a .mlir file may recompute in addition to those that do as "
  "written: none; auto, the first ones, from one to all (default none)">;
defm problem_output : Value<"problem-output", "FILE",
  "also write the problem of the chosen plan or window (rondo-problem)">;
defm output : Value<"output", "FILE",
  "where to write one rondo-schedule line per problem, in input order; a "
  ".mlir file gets the chosen plan and its schedule (default: standard "
  "output)">;
defm o : ShortOutput<"FILE">;
def pareto : Switch<"pareto",
  "the best objective for every cap, instead of one schedule">;
defm points : Value<"points", "N",
  "how many caps --pareto tries (default 16)", [Positive]>;
def json : Switch<"json",
  "with --pareto, print a rondo-schedule line per point">;
defm robust : Choice<"robust", "mean,p95",
  "choose by this statistic of the objective over sampled times">;
defm samples : Value<"samples", "N", "samples of --robust (default 64)",
  [Number]>;
defm jitter : Value<"jitter", "PERCENT",
  "how far a sampled time may be from the problem's (default 10)", [Number]>;
