// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"
include "tools/driver/options/Emission.td"

defm output : Value<"output", "FOLDER",
  "the folder to write (default train-src)">;
defm o : ShortOutput<"FOLDER">;
