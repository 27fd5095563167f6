//===- Measured.td - What commands that read traces have ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_OPTIONS_MEASURED
#define RONDO_TOOLS_DRIVER_OPTIONS_MEASURED

include "tools/driver/options/Shared.td"

defm iteration : Value<"iteration", "N",
  "the iteration of the trace to take, by its number in the training (default: "
  "the one of median time)", [Positive]>;

#endif // RONDO_TOOLS_DRIVER_OPTIONS_MEASURED
