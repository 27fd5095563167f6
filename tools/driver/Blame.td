// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm actions : Value<"actions", "N",
  "how many of the last actions of all ranks to print (default 16)", [Number]>;
def json : Switch<"json", "print one JSON object">;
