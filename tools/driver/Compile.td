// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"
include "tools/driver/options/Emission.td"

defm output : Value<"output", "FILE",
  "where to write (default: 'train' for an executable, else standard output)">;
defm o : ShortOutput<"FILE">;
defm emit : Choice<"emit", "schedule,lowered,cpp,exe",
  "where to stop (default exe)">;
defm library : Value<"library", "FILE",
  "an object file, archive or shared library with the bodies of custom layers; "
  "may be repeated", [Repeatable]>;
