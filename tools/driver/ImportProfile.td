// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm output : Value<"output", "FILE",
  "where to write the pipe.model, or the rondo-costs of traces (default: "
  "standard output)">;
defm o : ShortOutput<"FILE">;
defm name : Value<"name", "NAME", "the model's name (default: profile)">;
defm batch : Value<"batch", "N",
  "samples of the batch, or of the micro-batches of traces, which the files do "
  "not state; a comment of the model, or the costs, say it (default: unknown)", [Positive]>;
