// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Windows.td"

defm family : Value<"family", "NAME",
  "a family such as 1f1b or kfkb:k=2, or all; may be repeated",
  [Family, Repeatable]>;
defm schedules : Value<"schedules", "FILE",
  "orders for the problems of FILE (rondo-schedule)">;
def explain : Switch<"explain",
  "say why each schedule takes its time: critical path, slack, what would make "
  "it faster">;
def timeline : Switch<"timeline", "draw each schedule over time as text">;
def json : Switch<"json",
  "print one rondo-schedule line per family and nothing else; with --explain, "
  "rondo-explanation">;
defm costs : Value<"costs", "FILE",
  "measured times of the stages of a .mlir file (rondo-costs/1)">;
defm problem_output : Value<"problem-output", "FILE",
  "also write the plans of a .mlir file, or the windows of a problem, as "
  "problems (rondo-problem)">;
