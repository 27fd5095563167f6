include "tools/driver/options/Shared.td"
include "tools/driver/options/Emission.td"

defm output : Value<"output", "FILE",
  "where to write (default: 'train' for an executable, else standard output)">;
defm o : ShortOutput<"FILE">;
defm emit : Choice<"emit", "schedule,lowered,cpp,exe",
  "how far to go (default exe)">;
