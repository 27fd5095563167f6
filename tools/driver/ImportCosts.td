// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm output : Value<"output", "FILE",
  "where to write the costs, or the rondo-problem (default: standard output)">;
defm o : ShortOutput<"FILE">;
defm lengths : Value<"lengths", "N,...",
  "tokens of a sequence in each file, in the order of the files">;
defm batch : Value<"batch", "N",
  "sequences of a micro-batch in files that do not state microbatch_samples",
  [Positive]>;
defm problem : Value<"problem", "FILE",
  "a rondo-problem with sizes, as import lengths writes it, that gets the times "
  "of its stages (default: the costs alone are written)">;
