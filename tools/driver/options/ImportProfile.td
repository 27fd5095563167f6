// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm output : Value<"output", "FILE",
  "where to write the pipe.model (default: standard output)">;
defm o : ShortOutput<"FILE">;
defm name : Value<"name", "NAME", "the model's name (default: profile)">;
defm batch : Value<"batch", "N",
  "samples of the batch that was profiled, which the file does not state; a "
  "comment of the model says it (default: unknown)", [Positive]>;
