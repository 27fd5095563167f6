// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of commands that treat several iterations.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_DRIVER_OPTIONS_WINDOWS
#define RONDO_TOOLS_DRIVER_OPTIONS_WINDOWS

include "tools/driver/options/Shared.td"

defm iterations : Value<"iterations", "N",
  "a window of N iterations, which may overlap (default: what the problem "
  "states, or 1)", [Positive]>;
defm policy : Choice<"policy", "synchronous,pipedream,2bw,pipemare,timeprest",
  "which versions of the weights tasks read (default: what the problem states, "
  "else the family's)">;
defm accounting : Choice<"accounting", "times,slots",
  "times, or slots: every task takes 1 ns whatever it serves, messages none "
  "(default: times)">;

#endif // RONDO_TOOLS_DRIVER_OPTIONS_WINDOWS
