// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm problems : Value<"problems", "FILE", "problems (rondo-problem)">;
defm schedules : Value<"schedules", "FILE", "schedules (rondo-schedule)">;
def json : Switch<"json", "print one JSON object per schedule">;
