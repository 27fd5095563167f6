// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm output : Value<"output", "FILE",
  "where to write the rondo-problem (default: standard output)">;
defm o : ShortOutput<"FILE">;
defm problem : Value<"problem", "FILE",
  "the rondo-problem that gets the sizes">;
defm key : Value<"key", "KEY",
  "the key of a file of JSON objects that has the length, or a list of lengths">;
defm microbatches : Value<"microbatches", "N",
  "micro-batches of the batch (default: all entries of the file; with "
  "--row-tokens those of the problem)", [Positive]>;
defm batch : Value<"batch", "N",
  "which batch of the file, from 0 (default 0)", [Number]>;
defm row_tokens : Value<"row-tokens", "N",
  "entries are documents: pack them into micro-batches of up to N tokens by the "
  "rule of training (default: an entry is a micro-batch)", [Positive]>;
defm tokens : Value<"tokens", "N",
  "tokens of the micro-batches that the problem's bytes are for, which become "
  "proportional to tokens (default: bytes stay)", [Positive]>;
