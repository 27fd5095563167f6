// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm output : Value<"output", "FILE",
  "where to write the pipe.model; - is standard output, without the report "
  "(default: only the report)">;
defm o : ShortOutput<"FILE">;
defm name : Value<"name", "NAME",
  "the model's name (default: its model_type)">;
defm sequence : Value<"sequence", "N",
  "tokens of a sample (default: the model's positions or its window, at most "
  "4096)", [Positive]>;
defm batch : Value<"batch", "N",
  "samples of a micro-batch (default 1)", [Positive]>;
defm target : Choice<"target", "cpu,cuda",
  "what the report's sizes are for (default cpu)">;
defm dtype : Choice<"dtype", "fp32,bf16",
  "number type of activations in the report (default: fp32 on cpu, the only "
  "one there; bf16 on cuda)">;
def json : Switch<"json", "print the report as one JSON object">;
