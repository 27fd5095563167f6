// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm iteration : IterationOfTrace;
defm iterations : Value<"iterations", "N",
  "draw N iterations, which may overlap (default: what the problem states, or "
  "1)", [Positive]>;
defm output : Value<"output", "FILE",
  "what to write, by its ending: .html, .svg, .json or .txt (default: text on "
  "standard output)">;
defm o : ShortOutput<"FILE">;
defm schedule : Value<"schedule", "LIST",
  "schedules of a .mlir file, by name (default: all)">;
defm schedules : Value<"schedules", "FILE",
  "schedules for the problems of FILE (rondo-schedule)">;
defm family : Value<"family", "NAME",
  "add a family's schedule, such as 1f1b or kfkb:k=2; may be given several "
  "times", [Family, Repeatable]>;
defm costs : Value<"costs", "FILE",
  "measured times for a .mlir file (rondo-costs)">;
defm name : Value<"name", "NAME",
  "the plan or problem of the file (default: the first with a schedule)">;
