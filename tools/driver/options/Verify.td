// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm problems : Value<"problems", "FILE", "problems (rondo-problem/1)">;
defm schedules : Value<"schedules", "FILE", "schedules (rondo-schedule/1)">;
def json : Switch<"json", "one JSON object for each schedule">;
