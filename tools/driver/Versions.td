// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Windows.td"

defm family : Value<"family", "NAME",
  "a family such as pipedream or 1f1b; may be given several times (default: "
  "those whose iterations overlap)", [Family, Repeatable]>;
defm schedules : Value<"schedules", "FILE",
  "schedules for the problems of FILE (rondo-schedule)">;
defm costs : Value<"costs", "FILE",
  "measured times for a .mlir file (rondo-costs)">;
def tasks : Switch<"tasks", "also print the version that every task reads">;
def json : Switch<"json", "print one JSON object per schedule">;
