// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"
include "tools/driver/options/Searching.td"

def all_ranks : Switch<"all-ranks",
  "peak memory of every rank, not of the fullest one">;
def json : Switch<"json",
  "print one rondo-schedule/1 line a schedule and nothing else">;
def csv : Switch<"csv", "print one line of figures a schedule, with a head">;
