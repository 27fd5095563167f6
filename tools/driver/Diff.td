// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm iteration : IterationOfTrace;
def json : Switch<"json", "print one JSON object (rondo-diff/1) and nothing else">;
defm schedule : Value<"schedule", "NAME",
  "the schedule of a .mlir file (default: the one that the trace names)">;
defm schedules : Value<"schedules", "FILE",
  "the schedule of a problem (rondo-schedule)">;
defm family : Value<"family", "NAME",
  "the family that the program ran, such as 1f1b or kfkb:k=2", [Family]>;
defm costs : Value<"costs", "FILE",
  "measured times for a .mlir file (rondo-costs)">;
defm name : Value<"name", "NAME",
  "the plan or problem of the file (default: the first with a schedule)">;
defm most : Value<"most", "N",
  "how many of the largest differences to list (default: 10)", [Positive]>;
